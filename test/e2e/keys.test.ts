/**
 * Issuing and verifying with every kind of key, and with certificates of a CA: issuer, verifier and wallet together.
 */
import { createPublicKey, X509Certificate } from 'node:crypto'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/codec/json.ts'
import { readJws } from '../../src/codec/jws.ts'
import { parseCertificate } from '../../src/keys/certificate.ts'
import { writeName } from '../../src/keys/certificate-name.ts'
import { EXTENDED_KEY_USAGE } from '../../src/keys/certificate-purpose.ts'
import { createSigner } from '../../src/keys/file-signer.ts'
import { makeCertificate, toPem, usualExtensions } from '../../src/keys/make-certificate.ts'
import { type Algorithm, type AlgorithmDetails, algorithms } from '../../src/keys/signature.ts'
import { WalletError } from '../../src/wallet/error.ts'
import { planPresentation, sendPresentation } from '../../src/wallet/present.ts'
import { receiveOffer } from '../../src/wallet/receive.ts'
import { type Authority, certify, makeAuthority } from '../support/forge.ts'
import {
  ISSUER_URL,
  makeKey,
  type ServiceOptions,
  type Services,
  startServices,
  VERIFIER_URL,
} from '../support/services.ts'
import { changing, testWallet } from '../support/wallet.ts'
import {
  declare,
  holderSigner,
  issueCredential,
  redeem,
  startIssuance,
  startVerification,
  statusOf,
} from '../support/wire.ts'

const METADATA = '/.well-known/openid-credential-issuer'
const all = Object.keys(algorithms) as Algorithm[]

let services: Services
const started: Services[] = []
afterEach(async () => {
  for (const each of started.splice(0)) await each.close()
})

async function serve(options: ServiceOptions = {}): Promise<Services> {
  const made = await startServices(options)
  started.push(made)
  return made
}

/** Makes the issuer's metadata say of every configuration what is given. */
function saying(members: JsonObject): typeof globalThis.fetch {
  return changing(services.fetch, METADATA, async (response) => {
    const metadata = (await response.json()) as { credential_configurations_supported: Record<string, JsonObject> }
    const shown = Object.entries(metadata.credential_configurations_supported)
    const changed = shown.map(([id, each]) => [id, { ...each, ...members }] as const)
    return Response.json({ ...metadata, credential_configurations_supported: Object.fromEntries(changed) })
  })
}

/** Receives and presents a credential with the reference wallet; the credential, and what became of the session. */
async function wholeWay(fetch = services.fetch) {
  const { wallet, sent } = testWallet(fetch, services.clock)
  const [stored] = await receiveOffer(wallet, (await startIssuance(services)).link)
  const { sessionId, link } = await startVerification(services)
  const plan = await planPresentation(wallet, link)
  // The verifier says no to a presentation that does not hold, and its report says why.
  await sendPresentation(wallet, plan).catch((error: unknown) => expect(error).toBeInstanceOf(WalletError))
  const status = await statusOf(services, VERIFIER_URL, sessionId)
  return { credential: stored?.credential ?? '', holder: stored?.holder, status, sent }
}

const chainOf = (jws: string) => (decodeProtectedHeader(jws).x5c ?? []).map((text) => Buffer.from(text, 'base64'))

describe.each(all)('an issuer and a verifier with keys for %s', (algorithm) => {
  it('serve a wallet that has a key of its own', async () => {
    services = await serve({ issuerAlgorithm: algorithm, verifierAlgorithm: algorithm })
    // The keys of the services and of the wallet know nothing of each other: each kind is used on either side.
    for (const holderAlgorithm of algorithm === 'ES256' ? all : [algorithm]) {
      const { jose }: AlgorithmDetails = algorithms[holderAlgorithm]
      const alg = jose.at(-1) ?? ''
      const fetch = saying({ proof_types_supported: { jwt: { proof_signing_alg_values_supported: [alg] } } })
      const { credential, holder, status, sent } = await wholeWay(fetch)
      expect([holderAlgorithm, status.status]).toEqual([holderAlgorithm, 'VERIFICATION_SUCCEEDED'])
      const [jws = ''] = credential.split('~')
      expect(decodeProtectedHeader(jws)).toMatchObject({ typ: 'vc+sd-jwt', alg: algorithm })
      expect(readJws(jws).payload.cnf).toEqual({ jwk: holder?.jwk })
      expect(holder?.alg).toBe(holderAlgorithm)
      const request = sent.find(({ to }) => to.includes('/credential-request'))?.body ?? ''
      const { proofs } = JSON.parse(request) as { proofs: { jwt: string[] } }
      expect(decodeProtectedHeader(proofs.jwt[0] ?? '').alg).toBe(alg)
    }
  })

  it('say so in metadata, keys, tokens and requests, and jose verifies each', async () => {
    services = await serve({ issuerAlgorithm: algorithm, verifierAlgorithm: algorithm })
    const id = await declare(services)
    const metadata = (await (await services.fetch(`${ISSUER_URL}${METADATA}`)).json()) as {
      credential_configurations_supported: Record<string, JsonObject>
    }
    expect(metadata.credential_configurations_supported[id]).toMatchObject({
      credential_signing_alg_values_supported: [algorithm],
    })
    const keys = (await (await services.fetch(`${ISSUER_URL}/auth/.well-known/jwks`)).json()) as {
      keys: { alg: string; kty: string }[]
    }
    expect(keys.keys).toMatchObject([{ alg: algorithm, use: 'sig', crv: algorithms[algorithm].crv }])
    const token = await redeem(services, (await startIssuance(services)).sessionId)
    const currentDate = services.clock.now
    await jwtVerify(token, createLocalJWKSet(keys), { issuer: ISSUER_URL, typ: 'at+jwt', currentDate })
    const { sessionId } = await startVerification(services)
    const url = `${VERIFIER_URL}/presentation/oid4vp/authorization-request/${sessionId}`
    const request = await (await services.fetch(url)).text()
    for (const jws of [request, (await issueCredential(services, await holderSigner())).split('~')[0] ?? '']) {
      const [leaf] = chainOf(jws)
      const { publicKey } = new X509Certificate(leaf ?? '')
      expect((await jwtVerify(jws, publicKey, { currentDate })).protectedHeader.alg).toBe(algorithm)
    }
  })
})

describe('a wallet', () => {
  it.each([
    [['jwk'], 'jwk'],
    [['did:key', 'did:web'], 'did:key'],
    [['did:jwk', 'did:key', 'jwk'], 'did:jwk'],
  ])('is bound by what the issuer knows of: %j', async (methods, method) => {
    services = await serve()
    const { status, sent, holder } = await wholeWay(saying({ cryptographic_binding_methods_supported: methods }))
    expect(status.status).toBe('VERIFICATION_SUCCEEDED')
    const request = sent.find(({ to }) => to.includes('/credential-request'))?.body ?? ''
    const { proofs } = JSON.parse(request) as { proofs: { jwt: string[] } }
    const { kid, jwk } = decodeProtectedHeader(proofs.jwt[0] ?? '')
    if (method === 'jwk') expect(jwk).toEqual(holder?.jwk)
    else expect(kid).toMatch(new RegExp(`^${method}:`))
  })

  it('prefers ES256 where the issuer takes several', async () => {
    services = await serve({ issuerAlgorithm: 'EdDSA' })
    const algs = ['Ed25519', 'ES512', 'ES256']
    const fetch = saying({ proof_types_supported: { jwt: { proof_signing_alg_values_supported: algs } } })
    expect((await wholeWay(fetch)).holder?.alg).toBe('ES256')
  })
})

describe('certificates below a CA', () => {
  const middle = writeName([['CN', 'Middle']])
  const names = { dnsNames: ['issuer.localhost'], uris: [ISSUER_URL] }

  async function chained(algorithm: Algorithm, purposes?: readonly string[]) {
    const root = await makeAuthority('Root', { algorithm })
    const middleKey = await makeKey(algorithm)
    const between = makeCertificate({
      subject: middle,
      publicKey: createPublicKey(middleKey),
      issuer: { name: root.name, privateKey: root.key },
      serial: Buffer.of(7),
      notBefore: new Date(Date.now() - 86_400_000),
      notAfter: new Date(Date.now() + 365 * 86_400_000),
      extensions: usualExtensions({
        publicKey: createPublicKey(middleKey),
        issuerPublicKey: createPublicKey(root.key),
        isCa: true,
        pathLength: 0,
      }),
    })
    const leafFor = (key: Authority['key']) =>
      certify({ name: middle, key: middleKey }, key, { ...names, ...(purposes ? { purposes } : {}) })
    const start = (options: ServiceOptions) =>
      serve({ issuerAlgorithm: algorithm, verifierAlgorithm: algorithm, ...options })
    return { root, between, leafFor, start }
  }

  it.each(all)('lead to an anchor that only the verifier has, by keys for %s', async (algorithm) => {
    const { root, between, leafFor, start } = await chained(algorithm)
    services = await start({
      anchors: [toPem(root.der)],
      issuerCertificates: (key) => Promise.resolve([leafFor(key), between, root.der].map(toPem).join('')),
      verifierCertificates: (key) => Promise.resolve([leafFor(key), between, root.der].map(toPem).join('')),
    })
    const { credential, status } = await wholeWay()
    expect(status.status).toBe('VERIFICATION_SUCCEEDED')
    expect(JSON.stringify(status)).toContain('by way of CN=issuer.localhost, CN=Middle, CN=Root')
    const { sessionId } = await startVerification(services)
    const url = `${VERIFIER_URL}/presentation/oid4vp/authorization-request/${sessionId}`
    for (const jws of [credential.split('~')[0] ?? '', await (await services.fetch(url)).text()]) {
      const chain = chainOf(jws)
      expect(chain.map((der) => parseCertificate(der).subjectText)).toEqual(['CN=issuer.localhost', 'CN=Middle'])
      expect(chain.some((der) => der.equals(root.der))).toBe(false)
    }
  })

  it('do not lead there without what is between', async () => {
    const { root, leafFor, start } = await chained('ES256')
    services = await start({
      anchors: [toPem(root.der)],
      issuerCertificates: (key) => Promise.resolve(toPem(leafFor(key))),
    })
    const { status } = await wholeWay()
    expect(status.status).toBe('VERIFICATION_FAILED')
    expect(JSON.stringify(status)).toMatch(/no anchor is named 'CN=Middle', and no certificate of that name was sent/)
  })

  it('do not lead to another root of the same name', async () => {
    const { between, leafFor, start } = await chained('ES256')
    services = await start({
      anchors: [toPem((await makeAuthority('Root')).der)],
      issuerCertificates: (key) => Promise.resolve([leafFor(key), between].map(toPem).join('')),
    })
    const { status } = await wholeWay()
    expect(status.status).toBe('VERIFICATION_FAILED')
    expect(JSON.stringify(status)).toMatch(/is named as the issuer of 'CN=Middle', but its key did not sign it/)
  })

  it('of a document signer, marked critical, sign credentials', async () => {
    const { root, between, leafFor, start } = await chained('ES256', [EXTENDED_KEY_USAGE.mdlDocumentSigner])
    services = await start({
      anchors: [toPem(root.der)],
      issuerCertificates: (key) => Promise.resolve([leafFor(key), between].map(toPem).join('')),
    })
    expect((await wholeWay()).status.status).toBe('VERIFICATION_SUCCEEDED')
  })

  it('of a reader cannot: the issuer does not start', async () => {
    const { leafFor, start } = await chained('ES256', [EXTENDED_KEY_USAGE.mdlReaderAuthentication])
    const failed = start({ issuerCertificates: (key) => Promise.resolve(toPem(leafFor(key))) })
    await expect(failed).rejects.toThrow(
      /signing\.certificateFiles\[0\]: the extended key usage .* signing credentials/,
    )
  })
})

describe('a certificate that a CA gave itself for a new key', () => {
  it('is sent, as it is not an anchor: another key signed it', async () => {
    services = await serve()
    const root = await makeAuthority('Root')
    const newKey = await makeKey()
    const link = certify(root, newKey, { name: root.name, isCa: true, usages: ['keyCertSign'] })
    const leafKey = await makeKey()
    const leaf = certify({ name: root.name, key: newKey }, leafKey)
    const { x5c } = createSigner(leafKey, [leaf, link, root.der].map(parseCertificate))
    expect(x5c).toEqual([leaf, link].map((der) => der.toString('base64')))
    expect(parseCertificate(link).selfIssued).toBe(true)
  })
})
