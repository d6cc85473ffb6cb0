/**
 * Clients that use a service as applications and wallets do and remember each answer, so that a test can look for the
 * answers that the service has forgotten after a fault.
 */
import { createPrivateKey, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { formatOf } from '../../src/credential/formats.ts'
import { readPemCertificates } from '../../src/keys/certificate.ts'
import { createSigner } from '../../src/keys/file-signer.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { configurationOf } from './configuration.ts'
import { requestOf, startedSession, TOKEN_ENDPOINT, tokenOf } from './issuance.ts'
import { ISSUER_URL, type Services, VERIFIER_URL } from './services.ts'
import { act, type Reference, referenceOf } from './status.ts'
import {
  configuration,
  dataset,
  fetchNonce,
  holderSigner,
  postForm,
  presentationOf,
  requestCredential,
  startVerification,
  statusOf,
} from './wire.ts'

/** The most answers of each kind that are sent again after a fault. */
const REPEATED = 10

/** Returns what the helpers of tests need of services, for one that runs as a process at the address of `urlOf`. */
export function servicesAt(urlOf: () => string, clock = { now: new Date() }): Services {
  const fetchThere = (url: string, init?: RequestInit) =>
    fetch(url.replace(ISSUER_URL, urlOf()).replace(VERIFIER_URL, urlOf()), init)
  return { fetch: fetchThere, clock } as unknown as Services
}

/** Repeats `use` until the service is gone. */
export async function useUntilKilled(use: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await use()
    } catch (error) {
      // `fetch` rejects with a TypeError where a connection is refused or ends.
      if (error instanceof TypeError) return
      throw error
    }
  }
}

/** Repeats `use` until `isOver`, whatever is refused meanwhile, with a pause after each refusal. */
export async function useThroughFault(use: () => Promise<void>, isOver: () => boolean, pauseMs = 20): Promise<void> {
  while (!isOver()) {
    try {
      await use()
    } catch {
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
}

/** The memory of the clients of an issuer, which have an answer once all of it has arrived. */
export interface IssuerMemory {
  readonly sessions: Set<string>
  /** The sessions whose code was spent, and the form that spent it. */
  readonly spent: Map<string, Readonly<Record<string, string>>>
  readonly issued: Map<string, { readonly status: Reference; readonly again: () => Promise<Response> }>
  /** The sessions for which a revocation was sent, and those for which one was acknowledged. */
  readonly sent: Set<string>
  readonly revoked: Set<string>
}

export function createIssuerMemory(): IssuerMemory {
  return { sessions: new Set(), spent: new Map(), issued: new Map(), sent: new Set(), revoked: new Set() }
}

export function countAnswers({ sessions, spent, issued, revoked }: IssuerMemory): number {
  return sessions.size + spent.size + issued.size + revoked.size
}

/** Returns the number of different status entries of the credentials, which is the number of the credentials. */
export function countEntries({ issued }: IssuerMemory): number {
  return new Set([...issued.values()].map(({ status: { uri, idx } }) => `${uri}#${idx}`)).size
}

/** Takes a session through its life, and remembers each answer. Every third credential is revoked. */
export async function useIssuer(services: Services, configurationId: string, memory: IssuerMemory): Promise<void> {
  const body = { credential_configurations: [configurationId], credential_dataset: dataset }
  const session = await startedSession(services, body)
  const { sessionId, form } = session
  memory.sessions.add(sessionId)
  const token = await tokenOf(session)
  memory.spent.set(sessionId, form)
  const nonce = await fetchNonce(services, sessionId)
  const ready = { ...session, token, nonce, holder: await holderSigner(), audience: `${ISSUER_URL}/${sessionId}` }
  const sent = await requestOf(ready)
  const response = await requestCredential(services, token, sent)
  const { credentials = [] } = (await response.json()) as { credentials?: readonly { readonly credential: string }[] }
  expect([response.status, credentials.length]).toEqual([200, 1])
  memory.issued.set(sessionId, {
    status: referenceOf('jwt_vc_json-ld', credentials[0]?.credential ?? '') as Reference,
    again: () => requestCredential(services, token, sent),
  })
  if (memory.issued.size % 3 > 0) return
  memory.sent.add(sessionId)
  const [status] = await act(services, 'revoke', sessionId)
  expect(status).toBe(200)
  memory.revoked.add(sessionId)
}

/** Returns the acknowledged answers that the issuer does not know any more, in words. */
export async function findLostOfIssuer(
  services: Services,
  { sessions, issued, sent, revoked }: IssuerMemory,
): Promise<readonly string[]> {
  const lost: string[] = []
  for (const id of sessions) {
    const { status, credentials = [] } = (await statusOf(services, ISSUER_URL, id)) as {
      status?: string
      credentials?: readonly { readonly credential_status?: string }[]
    }
    if (status === undefined) lost.push(`session ${id}`)
    if (!issued.has(id)) continue
    const state = credentials[0]?.credential_status
    if (status !== 'SUCCEEDED') lost.push(`credential of ${id}`)
    if (revoked.has(id) && state !== 'REVOKED') lost.push(`revocation of ${id}`)
    if (!sent.has(id) && state !== 'VALID') lost.push(`state of ${id}`)
  }
  return lost
}

/** Expects that codes and proofs that were used are refused. */
export async function expectSpent(services: Services, { spent, issued }: IssuerMemory): Promise<void> {
  for (const [id, form] of [...spent].slice(-REPEATED)) {
    const response = await postForm(services, `${TOKEN_ENDPOINT}/${id}`, form)
    expect([response.status, await response.json()]).toEqual([400, expect.objectContaining({ error: 'invalid_grant' })])
  }
  for (const { again } of [...issued.values()].slice(-REPEATED)) {
    const response = await again()
    expect([response.status, await response.json()]).toEqual([400, expect.objectContaining({ error: 'invalid_nonce' })])
  }
}

/** A credential, and the holder to whom it is bound. */
export interface HeldCredential {
  readonly credential: string
  readonly holder: Signer
}

/** Issues a credential with the key of the verifier in `directory`, whose certificate is its only anchor. */
export async function issueByVerifierKey(directory: string): Promise<HeldCredential> {
  const read = (name: string) => readFileSync(join(directory, name), 'utf8')
  const issuer = createSigner(createPrivateKey(read('verifier.key')), readPemCertificates(read('verifier.pem')))
  const [holder, now] = [await holderSigner(), Date.now()]
  const order = {
    configuration: configurationOf(configuration),
    dataset,
    issuer: 'http://127.0.0.1',
    holderKey: holder.jwk,
    issuedAt: new Date(now - 60_000),
    expiresAt: new Date(now + 3_600_000),
  }
  const credential = await formatOf('jwt_vc_json-ld')?.issue(order, issuer, randomBytes)
  return { credential: credential ?? '', holder }
}

/** The memory of the clients of a verifier. */
export interface VerifierMemory {
  readonly sessions: Set<string>
  /** The sessions whose presentation was accepted, and how it is sent again. */
  readonly accepted: Map<string, () => Promise<Response>>
}

/** Takes a verification through its life, and remembers each answer. */
export async function useVerifier(
  services: Services,
  { credential, holder }: HeldCredential,
  memory: VerifierMemory,
): Promise<void> {
  const { sessionId, request } = await startVerification(services)
  memory.sessions.add(sessionId)
  const presentation = await presentationOf(credential, holder, request, services.clock)
  const form = { vp_token: JSON.stringify({ card: [presentation] }), state: request.state }
  const send = () => postForm(services, request.response_uri, form)
  const response = await send()
  expect([response.status, await response.json()]).toEqual([200, expect.anything()])
  memory.accepted.set(sessionId, send)
}

/** Returns the acknowledged answers that the verifier does not know any more, in words. */
export async function findLostOfVerifier(
  services: Services,
  { sessions, accepted }: VerifierMemory,
): Promise<readonly string[]> {
  const lost: string[] = []
  for (const id of sessions) {
    const { status, result } = await statusOf(services, VERIFIER_URL, id)
    if (status === undefined) lost.push(`session ${id}`)
    if (!accepted.has(id)) continue
    if (status !== 'VERIFICATION_SUCCEEDED') lost.push(`acceptance of ${id}`)
    if (!/\bAda\b/.test(JSON.stringify(result ?? null))) lost.push(`result of ${id}`)
  }
  return lost
}

/** Expects that no presentation is accepted a second time. */
export async function expectAnswered({ accepted }: VerifierMemory): Promise<void> {
  for (const send of [...accepted.values()].slice(-REPEATED)) {
    const response = await send()
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({ error: expect.any(String) as string }),
    ])
  }
}
