import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { createAuthenticator } from './api-key.ts'

const authenticate = createAuthenticator({ 'the-key': 'the application' }, randomBytes)

it('a key is the label that the configuration has for it', () => {
  expect(authenticate('Bearer the-key')).toBe('the application')
})

it.each([[undefined], [''], ['Basic dGhlLWtleTo='], ['the-key']])(
  'a request with %j is told how to send a key',
  (sent) => {
    expect(() => authenticate(sent)).toThrow('send an API key of integrations.authentication as Authorization: Bearer')
  },
)

it('a request with a key that nobody knows is told that, and not the key', () => {
  expect(() => authenticate('Bearer the-key-of-another')).toThrow(
    /^this API key is not in integrations\.authentication of this service; each service has API keys of its own$/,
  )
})
