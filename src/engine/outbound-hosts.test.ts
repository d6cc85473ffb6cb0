import { describe, expect, it } from 'vitest'
import { engineConfig } from '../../test/support/engine.ts'
import { hostMistakes, isAllowed } from './outbound-hosts.ts'

const allowOf = (host: string): readonly string[] => engineConfig({ outbound: { allow: [host] } }).outbound.allow

describe('a host of outbound.allow', () => {
  it.each([
    ['bücher.example', 'https://bücher.example/x'],
    ['bücher.example', 'https://xn--bcher-kva.example/x'],
    ['xn--bcher-kva.example', 'https://bücher.example/x'],
    ['API.example', 'https://api.example/'],
    ['api.example:08443', 'https://api.example:8443/'],
    ['api.example:443', 'https://api.example/'],
    ['[0:0::1]:80', 'http://[::1]/'],
  ])('%s allows %s', (host, url) => {
    expect(isAllowed(url, allowOf(host))).toBe(true)
  })

  it.each([
    ['api.example:443', 'http://api.example/'],
    ['bücher.example:8443', 'https://bücher.example/'],
    ['api.example', 'https://api.example:8443/'],
  ])('%s does not allow %s', (host, url) => {
    expect(isAllowed(url, allowOf(host))).toBe(false)
  })

  it.each(['api.example\\x', 'api\t.example', 'https://api.example', 'api.example/x', 'api.example:x', ''])(
    'is a mistake where it is more than a host: %j',
    (host) => {
      expect(hostMistakes([host])).toEqual(['outbound.allow[0]: it must be a host such as api.example, or host:port'])
    },
  )
})
