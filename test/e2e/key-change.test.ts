/**
 * Changing the key of an issuer by the steps of docs/how-to/change-a-key.md, and what becomes of older credentials in
 * another order.
 */
import { createPublicKey, randomBytes, X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readJws } from '../../src/codec/jws.ts'
import { makeSelfSignedCertificate, toPem } from '../../src/keys/make-certificate.ts'
import type { VerificationReport } from '../../src/verifier/verification.ts'
import { restartedIssuer } from '../support/restarted-issuer.ts'
import {
  ISSUER_URL,
  makeKey,
  outboundBy,
  pemOf,
  type Services,
  startServices,
  VERIFIER_URL,
} from '../support/services.ts'
import { act, type IssuedCredential, issueWithStatus, verifiedCwt } from '../support/status.ts'
import {
  call,
  codeOf,
  dcqlQuery,
  declare,
  GRANT,
  postForm,
  presentationOf,
  redeem,
  startIssuance,
} from '../support/wire.ts'

const DAY = 86_400_000
const GOOD = { verified: true, failed: [] }
const SIGNING = { keyFile: 'next.key', certificateFiles: ['next.pem'] }
const OLD = { keyFile: 'issuer.key', certificateFiles: ['issuer.pem'] }

async function newKey(days = 365): Promise<{ readonly key: string; readonly certificate: string }> {
  const key = await makeKey()
  const certificate = makeSelfSignedCertificate({
    privateKey: key,
    publicKey: createPublicKey(key),
    commonName: new URL(ISSUER_URL).hostname,
    uris: [ISSUER_URL],
    notBefore: new Date(Date.now() - 365 * DAY),
    notAfter: new Date(Date.now() + days * DAY),
    serial: randomBytes(16),
  })
  return { key: pemOf(key), certificate: toPem(certificate) }
}

describe('a new key of the issuer', () => {
  let services: Services
  let older: IssuedCredential
  let pems: { readonly old: string; readonly next: string }
  let files: Record<string, string>
  /** The key in the place of the old one, which the configuration keeps. */
  let changed: Services
  /** The same without the old key. */
  let withoutOld: Services
  const closing: (() => Promise<void>)[] = []

  beforeAll(async () => {
    services = await startServices()
    older = await issueWithStatus(services)
    const { key, certificate } = await newKey(1000)
    pems = { old: services.files.get('issuer.pem') ?? '', next: certificate }
    files = { 'next.key': key, 'next.pem': certificate }
    changed = await restarted({ signing: { ...SIGNING, previous: [OLD] } })
    withoutOld = await restarted({ signing: SIGNING })
  })
  afterAll(async () => {
    for (const close of closing) await close()
    await services.close()
  })

  async function restarted(issuer: Record<string, unknown>, more: Record<string, string> = {}): Promise<Services> {
    const after = await restartedIssuer(services, { files: { ...files, ...more }, issuer })
    closing.push(() => after.issuer.close())
    return after
  }

  /**
   * Returns the report of a verifier with these anchors, which asks this issuer for status lists; and the checks that
   * fail.
   */
  async function verified({ credential, holder }: IssuedCredential, anchors: readonly string[], issuer: Services) {
    const verifier = await startServices({ anchors, outbound: outboundBy(issuer.fetch) })
    closing.push(() => verifier.close())
    const binding = { client_id: 'us', nonce: 'nonce', state: '', response_uri: '' }
    const text = await presentationOf(credential, holder, binding, verifier.clock)
    const body = { dcql_query: dcqlQuery, vp_token: { card: [text] }, nonce: 'nonce', audience: 'us' }
    const url = `${VERIFIER_URL}/presentation/oid4vp/static-presentation`
    const report = (await (await call(verifier, url, body)).json()) as VerificationReport
    const checks = report.credentials.card?.[0]?.checks ?? []
    return {
      verified: report.verified,
      failed: checks.filter(({ outcome }) => outcome === 'failed').map(({ id }) => id),
    }
  }

  it('leaves older credentials good at verifiers that know the old certificate alone', async () => {
    expect(await verified(older, [pems.old], changed)).toEqual(GOOD)
  })

  it('makes credentials that are good at verifiers that know the new certificate alone', async () => {
    const newer = await issueWithStatus(changed)
    expect(await verified(newer, [pems.next], changed)).toEqual(GOOD)
    expect(await verified(older, [pems.old, pems.next], changed)).toEqual(GOOD)
    expect((await verified(newer, [pems.old], changed)).failed).toContain('issuer.trusted')
  })

  it('begins a list of its own, and goes on with that and with the older one after another restart', async () => {
    const again = await restarted({ signing: { ...SIGNING, previous: [OLD] } })
    const [before, after] = [await issueWithStatus(changed), await issueWithStatus(again)]
    expect(after.status.uri).toBe(before.status.uri)
    expect(after.status.uri).not.toBe(older.status.uri)
    // A process that has the old key still, as in a restart of one after the other.
    const beside = await issueWithStatus(services)
    expect(beside.status.uri).toBe(older.status.uri)
    expect(await verified(beside, [pems.old], changed)).toEqual(GOOD)
  })

  it('lets older credentials be revoked, for verifiers that know the old certificate alone', async () => {
    const [revoked, kept] = [await issueWithStatus(services), await issueWithStatus(services)]
    expect(await verified(revoked, [pems.old], changed)).toEqual(GOOD)
    expect(await act(changed, 'revoke', revoked.sessionId)).toMatchObject([200, {}])
    expect((await verified(revoked, [pems.old], changed)).failed).toEqual(['status.valid'])
    expect(await verified(kept, [pems.old], changed)).toEqual(GOOD)
  })

  it('breaks older credentials where the old key is taken out before verifiers have the new certificate', async () => {
    const { verified: isGood, failed } = await verified(older, [pems.old], withoutOld)
    expect([isGood, failed]).toEqual([false, ['status.valid']])
    expect(await verified(older, [pems.old, pems.next], withoutOld)).toEqual(GOOD)
  })

  it('breaks older credentials at verifiers that give the old certificate up too early', async () => {
    expect((await verified(older, [pems.next], changed)).failed).toContain('issuer.trusted')
  })

  it('voids no offer and no token, also without a file of secrets', async () => {
    const id = await declare(services)
    const [{ sessionId: offered }, { sessionId: redeemed }] = [
      await startIssuance(services, { credential_configurations: [id] }),
      await startIssuance(services, { credential_configurations: [id] }),
    ]
    const form = { grant_type: GRANT, 'pre-authorized_code': await codeOf(services, offered) }
    expect((await postForm(changed, `${ISSUER_URL}/auth/token-endpoint/${offered}`, form)).status).toBe(200)
    const token = await redeem(services, redeemed)
    const keys = (await (await changed.fetch(`${ISSUER_URL}/auth/.well-known/jwks`)).json()) as {
      keys: { kid: string }[]
    }
    // Others who verify the token by these keys find that of either.
    const { kid } = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }
    expect(keys.keys).toHaveLength(2)
    expect(keys.keys[1]).toMatchObject({ kid })
  })

  it('is signed for by the newest key once the certificate of the old one is over', async () => {
    const { key, certificate } = await newKey(-1)
    const other = { keyFile: 'over.key', certificateFiles: ['over.pem'] }
    const over = await restarted(
      { signing: { ...SIGNING, previous: [other, OLD] } },
      { 'over.key': key, 'over.pem': certificate },
    )
    expect(await verified(older, [pems.old], over)).toEqual(GOOD)
    services.clock.now = new Date(Date.now() + 731 * DAY)
    try {
      const list = await changed.fetch(older.status.uri)
      const header = Buffer.from((await list.text()).split('.')[0] ?? '', 'base64url').toString()
      expect((JSON.parse(header) as { x5c: string[] }).x5c[0]).toBe(pems.next.replace(/-----.*-----|\n/g, ''))
    } finally {
      services.clock.now = new Date()
    }
  })

  it('signs no status list for longer than its certificate is valid', async () => {
    const { key, certificate } = await newKey(0.25)
    const signing = { keyFile: 'short.key', certificateFiles: ['short.pem'] }
    const short = await restarted({ signing }, { 'short.key': key, 'short.pem': certificate })
    const end = Date.parse(new X509Certificate(certificate).validTo) / 1000
    const { uri } = (await issueWithStatus(short)).status
    const list = async (path: string, accept = '*/*') =>
      Buffer.from(await (await short.fetch(`${uri}${path}`, { headers: { accept } })).arrayBuffer())
    const payloadOf = async (path: string) => readJws((await list(path)).toString()).payload
    expect((await payloadOf('')).exp).toBe(end)
    expect(verifiedCwt(await list('', 'application/statuslist+cwt')).get(4)).toBe(end)
    const validUntil = new Date(end * 1000).toISOString()
    expect(await payloadOf('/revocation')).toMatchObject({ exp: end, validUntil })
    expect(await verified(await issueWithStatus(short), [certificate], short)).toEqual(GOOD)
    // The list of another key has the whole day.
    const { iat, exp } = readJws(await (await changed.fetch(older.status.uri)).text()).payload
    expect(Number(exp) - Number(iat)).toBe(86_400)
  })
})
