import { expect, it } from 'vitest'
import { bypassProxy } from './proxy.ts'

it.each([
  [{ HTTP_PROXY: 'http://proxy:3128' }, 'localhost,127.0.0.1,::1,[::1],192.168.1.17'],
  [{ https_proxy: 'http://proxy', NO_PROXY: '.example' }, '.example,localhost,127.0.0.1,::1,[::1],192.168.1.17'],
  [{ http_proxy: 'http://proxy', NO_PROXY: 'a', no_proxy: 'b' }, 'b,localhost,127.0.0.1,::1,[::1],192.168.1.17'],
])('calls to this machine do not go through the proxy of %j', (environment: NodeJS.ProcessEnv, expected) => {
  bypassProxy(environment, () => '192.168.1.17')
  expect([environment.no_proxy, environment.NO_PROXY]).toEqual([expected, expected])
})

it('an environment without a proxy stays as it is', () => {
  const environment = {}
  bypassProxy(environment, () => undefined)
  expect(environment).toEqual({})
})
