import { describe, expect, it } from 'vitest'
import { MalformedError, malformed } from '../codec/malformed.ts'
import { HTTP_STATUS, ProtocolError, readOrRefuse, refuse, refuseMalformed } from './error.ts'

/** The statuses of the specifications, and of RFC 9110 where they leave it to HTTP. */
const STATUS: readonly (readonly [status: number, codes: string])[] = [
  [400, 'invalid_request invalid_grant unsupported_grant_type invalid_scope unsupported_response_type'],
  [400, 'invalid_request_uri invalid_client invalid_client_attestation use_attestation_challenge'],
  [401, 'invalid_token'],
  [403, 'insufficient_scope'],
  [400, 'invalid_dpop_proof use_dpop_nonce invalid_authorization_details'],
  [400, 'invalid_credential_request unknown_credential_configuration unknown_credential_identifier'],
  [400, 'invalid_proof invalid_nonce invalid_encryption_parameters credential_request_denied'],
  [400, 'invalid_transaction_id invalid_notification_id invalid_notification_request unsupported_credential_type'],
  [400, 'issuance_pending'],
  [401, 'unauthorized'],
  [404, 'not_found'],
  [405, 'method_not_allowed'],
  [409, 'invalid_state idempotency_conflict'],
  [410, 'gone'],
  [413, 'request_too_large'],
  [415, 'unsupported_media_type'],
  [429, 'too_many_requests'],
  [500, 'server_error'],
  [501, 'not_implemented'],
  [503, 'temporarily_unavailable'],
]

describe('a refusal', () => {
  it('has the status of its code, and there are no other codes', () => {
    const expected = STATUS.flatMap(([status, codes]) => codes.split(' ').map((code) => [code, status]))
    expect(HTTP_STATUS).toEqual(Object.fromEntries(expected))
  })

  it('says why, and keeps the cause for the log', () => {
    const cause = new Error('why')
    expect(thrownBy(() => refuse('invalid_request', 'say more', { cause }))).toMatchObject({
      ...{ name: 'ProtocolError', code: 'invalid_request', message: 'say more', cause, members: {} },
      challenge: undefined,
    })
  })

  it('has the members and the challenge that it was given', () => {
    const error = new ProtocolError('invalid_token', 'again', { members: { interval: 5 }, challenge: 'DPoP' })
    expect(error).toMatchObject({ members: { interval: 5 }, challenge: 'DPoP' })
  })

  it('is made of what is malformed, and of nothing else', () => {
    expect(readOrRefuse('invalid_proof', 'the proof', () => 7)).toBe(7)
    const refused = thrownBy(() => readOrRefuse('invalid_proof', 'the proof', () => malformed('it is not a JWT')))
    expect(refused).toMatchObject({ code: 'invalid_proof', message: 'the proof: it is not a JWT' })
    expect((refused as ProtocolError).cause).toEqual(new MalformedError('it is not a JWT'))
    const bug = new TypeError('a mistake of ours')
    expect(thrownBy(() => refuseMalformed('invalid_proof', 'the proof', bug))).toBe(bug)
    expect(thrownBy(() => refuseMalformed('gone', 'it', new MalformedError('x')))).toBeInstanceOf(ProtocolError)
  })
})

function thrownBy(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  return undefined
}
