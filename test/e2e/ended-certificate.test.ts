/** A service whose own certificate ends while it runs: nothing is signed that others refuse, and nothing is used up. */
import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { formatOf } from '../../src/credential/formats.ts'
import { makeSelfSignedCertificate, toPem } from '../../src/keys/make-certificate.ts'
import { drivenFormats } from '../support/oidf-formats.ts'
import { ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import {
  call,
  codeOf,
  dataset,
  fetchNonce,
  GRANT,
  holderSigner,
  issueCredential,
  keyProof,
  postForm,
  redeem,
  requestCredential,
  startIssuance,
  startVerification,
} from '../support/wire.ts'

const HOUR_MS = 3_600_000

let services: Services
let certificateEnd: Date
beforeEach(async () => {
  certificateEnd = new Date(Date.now() + HOUR_MS)
  services = await startWithCertificates(new Date(Date.now() - HOUR_MS))
})
afterEach(() => services.close())

/** Starts services whose certificates begin then, and end when `certificateEnd` says. */
function startWithCertificates(notBefore: Date): Promise<Services> {
  const lasting = (url: string) => (privateKey: KeyObject) =>
    Promise.resolve(
      toPem(
        makeSelfSignedCertificate({
          privateKey,
          publicKey: createPublicKey(privateKey),
          commonName: 'short',
          uris: [url],
          serial: randomBytes(16),
          notBefore,
          notAfter: certificateEnd,
        }),
      ),
    )
  return startServices({ issuerCertificates: lasting(ISSUER_URL), verifierCertificates: lasting(VERIFIER_URL) })
}

function passTime(milliseconds: number): void {
  services.clock.now = new Date(services.clock.now.getTime() + milliseconds)
}

const unavailable = {
  error: 'temporarily_unavailable',
  error_description: expect.stringMatching(/certificate.* ended/) as string,
}

it('an issuer refuses the token, leaves the offer, and serves what its certificate is not needed for', async () => {
  const { sessionId } = await startIssuance(services, { expires_in: 7200 })
  const form = { grant_type: GRANT, 'pre-authorized_code': await codeOf(services, sessionId) }
  passTime(HOUR_MS + 60_000)
  const refused = await postForm(services, `${ISSUER_URL}/auth/token-endpoint/${sessionId}`, form)
  expect([refused.status, await refused.json()]).toEqual([503, unavailable])
  expect((await services.fetch(`${ISSUER_URL}/health/ready`)).status).toBe(200)
  expect(await (await call(services, `${ISSUER_URL}/operations/overview`)).json()).toMatchObject({ ready: true })
  passTime(-HOUR_MS)
  const { status } = await postForm(services, `${ISSUER_URL}/auth/token-endpoint/${sessionId}`, form)
  expect(status).toBe(200)
})

it('an issuer refuses the credential and leaves the nonce', async () => {
  passTime(HOUR_MS - 60_000)
  const { sessionId, id } = await startIssuance(services)
  const token = await redeem(services, sessionId)
  const nonce = await fetchNonce(services, sessionId)
  const proof = await keyProof({ holder: await holderSigner(), nonce, audience: ISSUER_URL }, services.clock.now)
  const body = { credential_configuration_id: id, proofs: { jwt: [proof] } }
  passTime(120_000)
  const refused = await requestCredential(services, token, body)
  expect([refused.status, await refused.json()]).toEqual([503, unavailable])
  passTime(-120_000)
  expect((await requestCredential(services, token, body)).status).toBe(200)
})

it.each(drivenFormats)('an issuer issues no $format that is valid for longer', async (driven) => {
  const { format, configuration, dataset: claims } = driven
  const issue = async (validity_seconds: number) => {
    const posted = { ...configuration, validity_seconds }
    const credential = await issueCredential(services, await holderSigner(), posted, claims)
    // A credential of the W3C says it in two places.
    return formatOf(format)?.readHeld(credential).validity.notAfter.at(-1)?.at?.getTime()
  }
  const end = Math.floor(certificateEnd.getTime() / 1000) * 1000
  expect(await issue(86_400)).toBe(end)
  expect(await issue(60)).toBeLessThan(end)
})

it.each(drivenFormats)('an issuer issues no $format that is older than its certificate', async (driven) => {
  const { format, configuration, dataset: claims } = driven
  await services.close()
  const begin = new Date(Math.floor(Date.now() / 1000) * 1000)
  services = await startWithCertificates(begin)
  // The dates of a credential that lasts for long are of the hour.
  const posted = { ...configuration, validity_seconds: 86_400 }
  const credential = await issueCredential(services, await holderSigner(), posted, claims)
  const times =
    formatOf(format)
      ?.readHeld(credential)
      .validity.notBefore.map(({ at }) => at?.getTime() ?? 0) ?? []
  expect(Math.min(...times)).toBe(begin.getTime())
})

it('an issuer signs no status list that has ended when it begins, nor sends one that it signed before', async () => {
  const id = 'list'
  await services.issuerStore.commit([{ insert: 'status_list', id, value: { entries: 8, bits: 2 } }])
  const urls = ['', '/revocation'].map((path) => `${ISSUER_URL}/status-list/${id}${path}`)
  for (const url of urls) expect((await services.fetch(url)).status).toBe(200)
  passTime(HOUR_MS)
  for (const url of urls) {
    const refused = await services.fetch(url)
    expect([refused.status, await refused.json()]).toEqual([503, unavailable])
  }
})

it('a verifier starts no session, sends no request, and serves the sessions that there are', async () => {
  passTime(HOUR_MS - 60_000)
  const { sessionId } = await startVerification(services)
  const requestUrl = `${VERIFIER_URL}/presentation/oid4vp/authorization-request/${sessionId}`
  expect((await services.fetch(requestUrl)).status).toBe(200)
  passTime(120_000)
  const request = await services.fetch(requestUrl)
  expect([request.status, await request.json()]).toEqual([410, { ...unavailable, error: 'gone' }])
  await expect(startVerification(services)).rejects.toThrow('certificate')
  expect((await services.fetch(`${VERIFIER_URL}/health/ready`)).status).toBe(200)
})

it('an issuer starts no session, and sends its metadata unsigned', async () => {
  const { id, sessionId } = await startIssuance(services, { expires_in: 7200 })
  const metadataUrl = `${ISSUER_URL}/.well-known/openid-credential-issuer/${sessionId}`
  const readType = async () => {
    const answer = await services.fetch(metadataUrl, { headers: { accept: 'application/jwt' } })
    return [answer.status, answer.headers.get('content-type')]
  }
  expect(await readType()).toEqual([200, 'application/jwt'])
  passTime(HOUR_MS + 60_000)
  expect(await readType()).toEqual([200, 'application/json; charset=utf-8'])
  const body = { credential_configurations: [id], credential_dataset: dataset }
  const refused = await call(services, `${ISSUER_URL}/issuance/oid4vci/new-session`, body)
  expect([refused.status, await refused.json()]).toEqual([503, unavailable])
})
