import { expect, it } from 'vitest'
import { parsePort } from './command-line.ts'

it('reads a port in digits', () => {
  expect(['0', '8090', '65535'].map(parsePort)).toEqual([0, 8090, 65_535])
})

it.each(['', ' 80', '1e3', '-1', '65536', 'http'])('refuses %j as a port, and says which there are', (text) => {
  expect(() => parsePort(text)).toThrow(`--port: ${text} is not a port; name a number from 0 to 65535`)
})
