import { expect, it } from 'vitest'
import { type JsonRpcError, readResult } from './json-rpc.ts'

it.each([
  ['{"code":"3","message":"no"}', 0, 'no'],
  ['{"code":3}', 3, 'it does not say why'],
])('the error %s has the code %i', (error, code, message) => {
  const read = () => readResult(`{"jsonrpc":"2.0","id":1,"error":${error}}`, 1)
  expect(read).toThrow(expect.objectContaining({ code, message }) as JsonRpcError)
})

it('an answer to another question has no result', () => {
  expect(readResult('{"jsonrpc":"2.0","id":1,"result":"0x7"}', 1)).toBe('0x7')
  expect(readResult('{"jsonrpc":"2.0","id":2,"result":"0x7"}', 1)).toBeUndefined()
})
