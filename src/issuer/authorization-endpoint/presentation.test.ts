import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { openTestStore, retryOnConflict } from '../../../test/support/store.ts'
import { type Outbound, OutboundError } from '../../http/outbound.ts'
import type { ProtocolError } from '../../protocol/error.ts'
import { startInteraction } from '../authorization-request.ts'
import { type IssuerCollections, issuerMigrations } from '../collections.ts'
import type { IssuerContext } from '../context.ts'
import { createPresentationStart } from './presentation.ts'

const now = () => new Date('2026-05-01T08:00:00Z')
const settings = {
  verifier: 'https://verifier.example',
  apiKey: 'a-key',
  verificationQueryId: 'a',
  datasets: new Map(),
}
const request = { clientId: 'a', redirectUri: 'https://wallet.example/', codeChallenge: 'a', configurationIds: ['a'] }

/** Returns the refusal of a person's way to a verifier that answers by `outbound`. */
async function refusalOf(outbound: Outbound): Promise<ProtocolError> {
  const store = await openTestStore<IssuerCollections>(issuerMigrations)
  const value = startInteraction(request, 'a-cookie', now())
  await store.commit([{ insert: 'authorization_request', id: 'a', value }])
  const config = { baseUrl: 'https://issuer.example' }
  const context = { store, retryOnConflict, outbound, now, random: randomBytes, config } as unknown as IssuerContext
  const start = createPresentationStart(context)
  const refusal = await start(settings, { id: 'a', cookie: 'a-cookie' }).catch((error: unknown) => error)
  await store.close()
  return refusal as ProtocolError
}

it('keeps the error of the connection to the verifier as the cause', async () => {
  const error = new OutboundError('verifier.example takes no connections', undefined, {
    cause: new Error('ECONNREFUSED'),
  })
  const refusal = await refusalOf(() => Promise.reject(error))
  const reason = refusal.cause as Error
  expect([refusal.code, reason.message, reason.cause]).toEqual([
    'temporarily_unavailable',
    'the verifier: verifier.example takes no connections',
    error,
  ])
})

it('keeps the error of the reader of the answer as the cause', async () => {
  const refusal = await refusalOf(() => Promise.resolve({ status: 200, headers: {}, body: Buffer.from('<html>') }))
  const reason = refusal.cause as Error
  expect([reason.message, reason.cause]).toEqual([
    expect.stringMatching(/^the verifier answered with what cannot be read: /),
    expect.objectContaining({ cause: expect.any(SyntaxError) as Error }),
  ])
})
