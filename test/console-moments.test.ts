/** The moments of a session that the console shows: no time is told that the service has not kept. */
import { expect, it } from 'vitest'
import { issuanceMoments, type SessionMoment, verificationMoments } from '../console/moments.ts'
import type { IssuerSchemas } from '../sdk/server/index.ts'

const issuance: IssuerSchemas['IssuanceSession'] = {
  session_id: 'a',
  status: 'STARTED',
  created_at: 100,
  expires_at: 700,
  credential_configurations: [],
  credentials: [],
}
const verification = { session_id: 'a', verification_query_id: 'q', created_at: 100, expires_at: 700 }
const times = (moments: readonly SessionMoment[]) => moments.map(({ at, text }) => [at, text])

it('a decision stands at its time, whichever it was, and never at the end of the session', () => {
  const deferred = { state: 'DENIED', waiting_requests: 0, decided_at: 250 } as const
  expect(times(issuanceMoments({ ...issuance, offer_fetched_at: 200, deferred }))).toEqual([
    [100, 'The session was started.'],
    [200, 'A wallet fetched the offer.'],
    [250, 'The credential was denied.'],
  ])
  const completed = { ...deferred, state: 'COMPLETED' } as const
  const credentials = [{ credential_configuration_id: 'c', issued_at: 300, credential_status: 'VALID' as const }]
  expect(times(issuanceMoments({ ...issuance, credentials, deferred: completed })).slice(1)).toEqual([
    [250, 'The session got its data.'],
    [300, 'A credential was issued.'],
  ])
})

it('a verification whose end has no time has none, and follows the start', () => {
  const declined = { ...verification, status: 'DECLINED' as const, wallet_error: { error: 'access_denied' } }
  expect(times(verificationMoments(declined))).toEqual([
    [100, 'The session was started.'],
    [undefined, 'The wallet said access_denied.'],
  ])
  expect(times(verificationMoments({ ...declined, ended_at: 150 })).at(-1)).toEqual([
    150,
    'The wallet said access_denied.',
  ])
})

it('what a wallet fetched and was refused for stands between the start and the end of a verification', () => {
  const refusal = { endpoint: 'authorization-response', error: 'invalid_request', error_description: 'no', count: 1 }
  const waiting = { ...verification, status: 'EXPIRED' as const, ended_at: 700 }
  expect(times(verificationMoments({ ...waiting, request_fetched_at: 150, problem: { ...refusal, at: 200 } }))).toEqual(
    [
      [100, 'The session was started.'],
      [150, 'A wallet fetched the request.'],
      [200, 'The wallet was refused at the authorization-response endpoint: invalid_request, no'],
      [700, 'The request expired.'],
    ],
  )
})

it('what went wrong stands between the messages where it happened', () => {
  const refusal = { endpoint: 'token', error: 'invalid_grant', error_description: 'no', at: 150, count: 2 }
  const session = { ...issuance, status: 'EXPIRED' as const, offer_fetched_at: 140, problem: refusal }
  expect(times(issuanceMoments(session))).toEqual([
    [100, 'The session was started.'],
    [140, 'A wallet fetched the offer.'],
    [150, 'The wallet was refused at the token endpoint: invalid_grant, no (2 times)'],
    [700, 'The session ended without a credential.'],
  ])
})
