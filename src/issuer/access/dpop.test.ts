import { expect, it } from 'vitest'
import { MalformedError } from '../../codec/malformed.ts'
import { type ErrorCode, ProtocolError } from '../../protocol/error.ts'
import { withDpopChallenge } from './dpop.ts'

const cause = new MalformedError('the header: it is not JSON', { cause: new SyntaxError() })

const refused = (code: ErrorCode, isDpop: boolean): Promise<unknown> =>
  withDpopChallenge({ tokenAlgorithms: ['ES256'] }, isDpop, () =>
    Promise.reject(new ProtocolError(code, 'it is not good here', { cause })),
  ).catch((error: unknown) => error)

it.each(['invalid_token', 'invalid_dpop_proof', 'use_dpop_nonce', 'insufficient_scope'] as const)(
  'adds the challenge of DPoP to a refusal with %s, and keeps the cause of the refusal',
  async (code) => {
    const challenge = `DPoP error="${code}", algs="ES256"`
    expect(await refused(code, true)).toMatchObject({ code, message: 'it is not good here', challenge, cause })
  },
)

it.each([
  ['of a token that was sent as Bearer', 'invalid_token', false],
  ['for another reason', 'invalid_proof', true],
] as const)('adds none to a refusal %s', async (_, code, isDpop) => {
  expect(await refused(code, isDpop)).toMatchObject({ code, challenge: undefined })
})
