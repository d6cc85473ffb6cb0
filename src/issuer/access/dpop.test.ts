import { expect, it } from 'vitest'
import { MalformedError } from '../../codec/malformed.ts'
import { ProtocolError } from '../../protocol/error.ts'
import { rethrowWithChallenge } from './dpop.ts'

it('adds the challenge of DPoP to a refusal of a token, and keeps the cause of the refusal', () => {
  const cause = new MalformedError('the header: it is not JSON', { cause: new SyntaxError() })
  const refusal = new ProtocolError('invalid_token', 'the access token is not good here', { cause })
  let thrown: unknown
  try {
    rethrowWithChallenge({ tokenAlgorithms: ['ES256'] }, refusal)
  } catch (error) {
    thrown = error
  }
  expect(thrown).toMatchObject({ code: 'invalid_token', challenge: 'DPoP error="invalid_token", algs="ES256"', cause })
})
