/** Changing the key of an issuer in the order of docs/operating.md, and what becomes of older credentials in another order. */
import { createPublicKey, randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readIssuerConfig } from '../../src/issuer/config.ts'
import { createIssuer } from '../../src/issuer/issuer.ts'
import { selfSignedCertificate, toPem } from '../../src/keys/make-certificate.ts'
import type { Signer } from '../../src/keys/signer.ts'
import type { Report } from '../../src/verifier/verification.ts'
import {
  fetchFrom,
  filesOf,
  ISSUER_URL,
  makeKey,
  outboundBy,
  pemOf,
  type Services,
  settings,
  startServices,
  VERIFIER_URL,
} from '../support/services.ts'
import { retryOnConflict } from '../support/store.ts'
import { call, dcqlQuery, holderSigner, issueCredential, presentationOf } from '../support/wire.ts'

const YEAR = 365 * 86_400_000

describe('a new key of the issuer', () => {
  let services: Services
  let holder: Signer
  let older: string
  let pems: { readonly old: string; readonly next: string }
  let changed: Services
  const closing: (() => Promise<void>)[] = []

  beforeAll(async () => {
    services = await startServices()
    holder = await holderSigner()
    older = await issueCredential(services, holder)
    const key = await makeKey()
    const next = toPem(
      selfSignedCertificate({
        privateKey: key,
        publicKey: createPublicKey(key),
        commonName: new URL(ISSUER_URL).hostname,
        uris: [ISSUER_URL],
        notBefore: new Date(Date.now() - YEAR),
        notAfter: new Date(Date.now() + YEAR),
        serial: randomBytes(16),
      }),
    )
    pems = { old: services.files.get('issuer.pem') ?? '', next }
    changed = await withKey(pemOf(key), next)
  })
  afterAll(async () => {
    for (const close of closing) await close()
    await services.close()
  })

  /** The issuer restarted with another key and certificate, on its database. */
  async function withKey(key: string, certificate: string): Promise<Services> {
    const files = new Map([...services.files, ['issuer.key', key], ['issuer.pem', certificate]])
    const read = readIssuerConfig(settings('issuer', ISSUER_URL), filesOf(files), services.clock.now)
    if ('mistakes' in read) throw new Error(read.mistakes.join())
    const { issuerStore: store, clock } = services
    const log = pino({ level: 'silent' })
    const outbound = outboundBy(services.fetch)
    const effects = { retryOnConflict, now: () => clock.now, random: randomBytes }
    const issuer = await createIssuer(read.config, { ...effects, store, outbound, log })
    closing.push(() => issuer.close())
    return { ...services, issuer, fetch: fetchFrom(new Map([[ISSUER_URL, issuer]])) }
  }

  /** The report of a verifier with these anchors, which asks this issuer for status lists; and the checks that fail. */
  async function verified(credential: string, anchors: readonly string[], issuer: Services) {
    const verifier = await startServices({ anchors, outbound: outboundBy(issuer.fetch) })
    closing.push(() => verifier.close())
    const binding = { client_id: 'us', nonce: 'nonce', state: '', response_uri: '' }
    const text = await presentationOf(credential, holder, binding, verifier.clock)
    const body = { dcql_query: dcqlQuery, vp_token: { card: [text] }, nonce: 'nonce', audience: 'us' }
    const url = `${VERIFIER_URL}/presentation/oid4vp/static-presentation`
    const report = (await (await call(verifier, url, body)).json()) as Report
    const checks = report.credentials.card?.[0]?.checks ?? []
    return {
      verified: report.verified,
      failed: checks.filter(({ outcome }) => outcome === 'failed').map(({ id }) => id),
    }
  }
  const GOOD = { verified: true, failed: [] }

  it('changes nothing while verifiers have both certificates and the issuer has the old key', async () => {
    expect(await verified(older, [pems.old, pems.next], services)).toEqual(GOOD)
  })

  it('breaks older credentials, and new ones, at verifiers that do not have the new certificate', async () => {
    const { verified: isGood, failed } = await verified(older, [pems.old], changed)
    expect([isGood, failed]).toEqual([false, ['status.valid']])
    const newer = await issueCredential(changed, holder)
    expect((await verified(newer, [pems.old], changed)).verified).toBe(false)
  })

  it('leaves older credentials good and makes good ones, at verifiers that had both before', async () => {
    const newer = await issueCredential(changed, holder)
    expect(await verified(older, [pems.old, pems.next], changed)).toEqual(GOOD)
    expect(await verified(newer, [pems.old, pems.next], changed)).toEqual(GOOD)
  })

  it('breaks older credentials at verifiers that give the old certificate up too early', async () => {
    expect((await verified(older, [pems.next], changed)).failed).toContain('issuer.trusted')
  })
})
