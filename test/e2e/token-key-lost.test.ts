/** Services whose key is in a token that is away for a while: callers are told to come back, and nothing is used up. */
import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Certificate } from '../../src/keys/certificate.ts'
import { createSigner } from '../../src/keys/file-signer.ts'
import { makeSelfSignedCertificate, toPem } from '../../src/keys/make-certificate.ts'
import { Pkcs11Error } from '../../src/keys/pkcs11/error.ts'
import type { Pkcs11Tokens } from '../../src/keys/pkcs11/signer.ts'
import { ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import {
  codeOf,
  fetchNonce,
  GRANT,
  holderSigner,
  keyProof,
  postForm,
  redeem,
  requestCredential,
  startIssuance,
  startVerification,
} from '../support/wire.ts'

const DAY_MS = 86_400_000

let services: Services
let isAway: boolean
let isSlow: boolean
/** The signatures that run now, and the most that ran at once. */
let signing: { running: number; most: number }

beforeEach(async () => {
  isAway = false
  isSlow = false
  signing = { running: 0, most: 0 }
  const keys: KeyObject[] = []
  const certify = (url: string) => (privateKey: KeyObject) => {
    keys.push(privateKey)
    const times = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) }
    const names = { commonName: 'card', uris: [url], serial: randomBytes(16) }
    const publicKey = createPublicKey(privateKey)
    return Promise.resolve(toPem(makeSelfSignedCertificate({ privateKey, publicKey, ...names, ...times })))
  }
  const keyOf = ({ publicKey }: Certificate) => keys.find((key) => createPublicKey(key).equals(publicKey))
  const pkcs11Tokens: Pkcs11Tokens = {
    createSigner: (_, chain) => {
      const signer = createSigner(keyOf(chain[0] as Certificate) as KeyObject, chain)
      const lost = new Pkcs11Error('the token is not there; put it back (CKR_TOKEN_NOT_PRESENT)')
      const signSlowly = async (data: Uint8Array) => {
        signing.running += 1
        signing.most = Math.max(signing.most, signing.running)
        await setTimeout(20)
        signing.running -= 1
        return signer.sign(data)
      }
      const sign = (data: Uint8Array) => (isSlow ? signSlowly(data) : signer.sign(data))
      return { ...signer, sign: (data) => (isAway ? Promise.reject(lost) : sign(data)) }
    },
  }
  const signingWith = (service: string) => ({
    signing: {
      pkcs11: { module: '/token.so', tokenLabel: 'card', keyLabel: service, pinFile: 'pin' },
      certificateFiles: [`${service}.pem`],
    },
  })
  services = await startServices({
    issuer: { ...signingWith('issuer'), secretsFile: 'secrets' },
    verifier: signingWith('verifier'),
    issuerCertificates: certify(ISSUER_URL),
    verifierCertificates: certify(VERIFIER_URL),
    files: { pin: '1234\n', secrets: randomBytes(32).toString('base64') },
    pkcs11Tokens,
  })
})
afterEach(() => services.close())

async function expectRefusalToWait(response: Response): Promise<void> {
  expect(response.status).toBe(503)
  expect(response.headers.get('retry-after')).toBe('10')
  expect(await response.json()).toEqual({
    error: 'temporarily_unavailable',
    error_description: 'the signing key of this service cannot be reached now; try again in a moment',
  })
}

it('an issuer refuses the token and the credential for a while, and both are given when the key is back', async () => {
  const { sessionId } = await startIssuance(services)
  const form = { grant_type: GRANT, 'pre-authorized_code': await codeOf(services, sessionId) }
  const url = `${ISSUER_URL}/auth/token-endpoint/${sessionId}`
  isAway = true
  await expectRefusalToWait(await postForm(services, url, form))
  isAway = false
  expect((await postForm(services, url, form)).status).toBe(200)

  const next = await startIssuance(services)
  const token = await redeem(services, next.sessionId)
  const nonce = await fetchNonce(services, next.sessionId)
  const proof = await keyProof({ holder: await holderSigner(), nonce, audience: ISSUER_URL }, services.clock.now)
  const body = { credential_configuration_id: next.id, proofs: { jwt: [proof] } }
  isAway = true
  await expectRefusalToWait(await requestCredential(services, token, body))
  isAway = false
  expect((await requestCredential(services, token, body)).status).toBe(200)
})

it('an issuer refuses signed metadata and status lists for a while, and serves what needs no signature', async () => {
  await services.issuerStore.commit([{ insert: 'status_list', id: 'list', value: { entries: 8, bits: 2 } }])
  isAway = true
  const metadata = `${ISSUER_URL}/.well-known/openid-credential-issuer`
  await expectRefusalToWait(await services.fetch(metadata, { headers: { accept: 'application/jwt' } }))
  const refused = await services.fetch(`${ISSUER_URL}/status-list/list`)
  expect(refused.headers.get('cache-control')).toBe('no-store')
  await expectRefusalToWait(refused)
  for (const url of [metadata, `${ISSUER_URL}/health/ready`]) expect((await services.fetch(url)).status).toBe(200)
})

it('a verifier refuses the request object for a while, and the log has the code of the token', async () => {
  const { sessionId } = await startVerification(services)
  const requestUri = `${VERIFIER_URL}/presentation/oid4vp/authorization-request/${sessionId}`
  isAway = true
  await expectRefusalToWait(await services.fetch(requestUri))
  expect(services.logLines.at(-1)).toContain('CKR_TOKEN_NOT_PRESENT')
  isAway = false
  expect((await services.fetch(requestUri)).status).toBe(200)
})

it('a verifier signs for one session at a time, so that whoever has one link leaves the token to others', async () => {
  const [own, other] = [await startVerification(services), await startVerification(services)]
  const path = `${VERIFIER_URL}/presentation/oid4vp/authorization-request`
  isSlow = true
  const flood = Promise.all(Array.from({ length: 40 }, () => services.fetch(`${path}/${own.sessionId}`)))
  expect((await services.fetch(`${path}/${other.sessionId}`)).status).toBe(200)
  const statuses = (await flood).map(({ status }) => status)
  expect(signing.most).toBeLessThanOrEqual(2)
  expect(new Set(statuses)).toEqual(new Set([200, 429]))
  expect(statuses.filter((status) => status === 200)).toHaveLength(16)
})
