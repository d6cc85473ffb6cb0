import { createSecretKey, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { ProtocolError, refuse } from '../../protocol/error.ts'
import type { OpenSession } from '../access/open-session.ts'
import type { IssuerContext } from '../context.ts'
import { answerOlderDraft } from './older-drafts.ts'

const details = { cause: 'cause', members: { interval: 5 }, challenge: 'DPoP', retryAfterSeconds: 7 }
const context = {
  config: { draft13: true },
  secrets: { nonce: [createSecretKey(randomBytes(32))] as const },
  random: randomBytes,
  now: () => new Date(),
  loadConfiguration: () => refuse('unknown_credential_configuration', 'there is none', details),
} as unknown as IssuerContext
const open = { sessionId: 'session', row: { value: { configurationIds: ['id'] } } } as unknown as OpenSession

describe('a refusal in the words of draft 13', () => {
  it('keeps the members and the headers of the refusal', async () => {
    const request = { format: 'dc+sd-jwt', vct: 'urn:card' }
    const refusal: unknown = await answerOlderDraft(context, open, { request, responseForm: {} }).catch(
      (error: unknown) => error,
    )
    expect(refusal).toBeInstanceOf(ProtocolError)
    expect(refusal).toMatchObject({ code: 'unsupported_credential_type', message: 'there is none', ...details })
  })
})
