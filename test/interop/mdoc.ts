/** The npm package `@owf/mdoc`, with node:crypto for its keys and certificates, and the rows it takes. */
import assert from 'node:assert/strict'
import { createHash, createPublicKey, type KeyObject, randomBytes, sign, verify, X509Certificate } from 'node:crypto'
import type { Services } from '../support/services.ts'
import { issueCredential } from '../support/wire.ts'
import { answer, type Holder, makeHolder, presentOurs, thumbprintOf, type WalletRequest } from './holder.ts'
import type { Row, Step } from './rows.ts'
import { assertVerified, DOCTYPE, NAMESPACE, requestOf, sampleOf } from './samples.ts'

interface CoseKey {
  readonly jwk: Record<string, unknown>
}

interface IssuerSigned {
  readonly encodedForOid4Vci: string
  getPrettyClaims(namespace: string): Record<string, unknown> | undefined
  verify(options: object, context: object): Promise<void>
}

interface DeviceRequest {
  readonly version: string
  readonly docRequests: readonly {
    readonly itemsRequest: { readonly docType: string }
    readonly readerAuth?: { verify(options: object, context: object): Promise<void> }
  }[]
}

interface DeviceResponse {
  readonly encodedForOid4Vp: string
  encode(): Uint8Array
  readonly documents: readonly { readonly docType: string; readonly issuerSigned: IssuerSigned }[]
  verify(options: object, context: object): Promise<void>
}

interface IssuerBuilder {
  addIssuerNamespace(namespace: string, values: object): IssuerBuilder
  sign(options: object): Promise<IssuerSigned>
}

interface Package {
  readonly IssuerSigned: { fromEncodedForOid4Vci(text: string): IssuerSigned }
  readonly DeviceResponse: {
    fromEncodedForOid4Vp(text: string): DeviceResponse
    createWithDeviceRequest(options: object, context: object): Promise<DeviceResponse>
  }
  readonly SessionTranscript: {
    readonly prototype: object
    forOid4Vp(options: object, context: object): Promise<object>
    forOid4VpDcApi(options: object, context: object): Promise<object>
  }
  readonly DeviceRequest: { create(options: object): object; decode(bytes: Uint8Array): DeviceRequest }
  readonly DocRequest: { create(options: object): object }
  readonly ItemsRequest: { create(options: object): object }
  readonly CoseKey: { fromJwk(jwk: object): CoseKey }
  readonly DeviceKey: { fromJwk(jwk: object): CoseKey }
  readonly Issuer: new (docType: string, context: object) => IssuerBuilder
  readonly SignatureAlgorithm: { readonly ES256: number }
}

// The package is named at run time, because it is installed for these tests only, and its types take seconds to check.
const packageName = '@owf/mdoc'
const mdoc = (await import(packageName)) as Package

const ALGORITHM = { dsaEncoding: 'ieee-p1363' } as const

/** Makes the parts that the package leaves to its user: hashes, randomness, signatures and certificates. */
function contextWith(key?: KeyObject): object {
  return {
    crypto: {
      random: (length: number) => new Uint8Array(randomBytes(length)),
      digest: ({ digestAlgorithm, bytes }: { readonly digestAlgorithm: string; readonly bytes: Uint8Array }) =>
        new Uint8Array(createHash(digestAlgorithm.replace('-', '')).update(bytes).digest()),
    },
    cose: {
      sign1: {
        sign: ({ toBeSigned }: { readonly toBeSigned: Uint8Array }) =>
          new Uint8Array(sign('sha256', toBeSigned, { key: key ?? assert.fail('no key'), ...ALGORITHM })),
        verify: ({ key: cose, sign1 }: { readonly key: CoseKey; readonly sign1: Sign1 }) => {
          const publicKey = createPublicKey({ key: { ...cose.jwk, kty: 'EC', crv: 'P-256' }, format: 'jwk' })
          return verify('sha256', sign1.toBeSigned, { key: publicKey, ...ALGORITHM }, sign1.signature)
        },
      },
    },
    x509: {
      getIssuerNameField: ({ certificate, field }: { readonly certificate: Uint8Array; readonly field: string }) =>
        new X509Certificate(certificate).issuer
          .split('\n')
          .filter((line) => line.startsWith(`${field}=`))
          .map((line) => line.slice(field.length + 1)),
      getPublicKey: ({ certificate }: { readonly certificate: Uint8Array }) =>
        mdoc.CoseKey.fromJwk(jwkOf(new X509Certificate(certificate).publicKey)),
      verifyCertificateChain: ({ trustedCertificates, x5chain }: Chain) => {
        const [leaf = assert.fail('no certificate'), ...more] = x5chain.map((der) => new X509Certificate(der))
        const anchors = trustedCertificates.map((der) => new X509Certificate(der))
        assert.equal(more.length, 0)
        assert.ok(anchors.some((anchor) => leaf.checkIssued(anchor) && leaf.verify(anchor.publicKey)))
      },
      getCertificateData: ({ certificate }: { readonly certificate: Uint8Array }) => {
        const { issuer, subject, serialNumber, validFrom, validTo, fingerprint256 } = new X509Certificate(certificate)
        const [notBefore, notAfter] = [new Date(validFrom), new Date(validTo)]
        return {
          issuerName: issuer,
          subjectName: subject,
          serialNumber,
          thumbprint: fingerprint256,
          notBefore,
          notAfter,
        }
      },
    },
  }
}

interface Sign1 {
  readonly toBeSigned: Uint8Array
  readonly signature: Uint8Array
}

interface Chain {
  readonly trustedCertificates: readonly Uint8Array[]
  readonly x5chain: readonly Uint8Array[]
}

/**
 * Returns the public part of a public or private key, made from the DER, as exporting a generated key can hang on Node
 * 20.
 */
function jwkOf(key: KeyObject): object {
  const isPublic = key.type === 'public' ? key : createPublicKey(key)
  return createPublicKey(isPublic.export({ type: 'spki', format: 'pem' })).export({ format: 'jwk' })
}

async function transcriptOf(
  request: Pick<WalletRequest, 'client_id' | 'nonce' | 'response_mode' | 'response_uri'>,
  thumbprint?: Uint8Array,
) {
  const { client_id: clientId, nonce, response_mode: mode, response_uri: responseUri } = request
  const options = { nonce, ...(thumbprint ? { jwkThumbprint: thumbprint } : {}) }
  if (mode === 'dc_api.jwt') {
    const origin = clientId.replace(/^origin:/, '')
    return mdoc.SessionTranscript.forOid4VpDcApi({ ...options, origin }, contextWith())
  }
  return mdoc.SessionTranscript.forOid4Vp({ ...options, clientId, responseUri }, contextWith())
}

/** Shows the claims that the sample's query asks for. */
export async function presentMdoc(
  credential: string,
  { key, signer }: Holder,
  request: WalletRequest,
): Promise<string> {
  const items = { docType: DOCTYPE, namespaces: { [NAMESPACE]: { given_name: false } } }
  const docRequest = mdoc.DocRequest.create({ itemsRequest: mdoc.ItemsRequest.create(items) })
  const response = await mdoc.DeviceResponse.createWithDeviceRequest(
    {
      deviceRequest: mdoc.DeviceRequest.create({ docRequests: [docRequest] }),
      sessionTranscript: await transcriptOf(request, await thumbprintOf(request)),
      issuerSigned: [mdoc.IssuerSigned.fromEncodedForOid4Vci(credential)],
      signature: { signingKey: mdoc.CoseKey.fromJwk({ ...signer.jwk, alg: signer.alg }) },
    },
    contextWith(key),
  )
  return response.encodedForOid4Vp
}

/**
 * Answers a DeviceRequest for the sample's query, after its signatures are verified. The package knows no handover of
 * `org-iso-mdoc`, which stands in place of one that it knows.
 */
export async function answerDeviceRequest(
  encodedRequest: Uint8Array,
  handover: readonly unknown[],
  credential: string,
  { key, signer }: Holder,
): Promise<Uint8Array> {
  const deviceRequest = mdoc.DeviceRequest.decode(new Uint8Array(encodedRequest))
  const transcript = { encodedStructure: { value: [null, null, handover] } }
  const sessionTranscript: unknown = Object.create(mdoc.SessionTranscript.prototype, transcript)
  for (const { itemsRequest, readerAuth } of deviceRequest.docRequests) {
    const readerAuthentication = { itemsRequest, sessionTranscript }
    await (readerAuth ?? assert.fail('no readerAuth')).verify({ readerAuthentication }, contextWith())
  }
  const response = await mdoc.DeviceResponse.createWithDeviceRequest(
    {
      deviceRequest,
      sessionTranscript,
      issuerSigned: [mdoc.IssuerSigned.fromEncodedForOid4Vci(credential)],
      signature: { signingKey: mdoc.CoseKey.fromJwk({ ...signer.jwk, alg: signer.alg }) },
    },
    contextWith(key),
  )
  return response.encode()
}

async function holds(services: Services, step: Step): Promise<void> {
  const holder = await makeHolder()
  const { configuration, dataset } = sampleOf('mso_mdoc')
  const credential = await issueCredential(services, holder.signer, configuration, dataset)
  await step('credential', async () => {
    const issuerSigned = mdoc.IssuerSigned.fromEncodedForOid4Vci(credential)
    await issuerSigned.verify({ trustedCertificates: anchorsOf(services) }, contextWith())
    assert.deepEqual(issuerSigned.getPrettyClaims(NAMESPACE), dataset[NAMESPACE])
  })
  const { sessionId, request } = await requestOf(services, 'mso_mdoc')
  const text = await step('presentation', () => presentMdoc(credential, holder, request))
  await step('verification', async () => {
    await answer(services, request, text)
    await assertVerified(services, 'mso_mdoc', sessionId)
  })
}

async function verifies(services: Services, step: Step): Promise<void> {
  const { signer } = await makeHolder()
  const { configuration, dataset, claims } = sampleOf('mso_mdoc')
  const credential = await issueCredential(services, signer, configuration, dataset)
  const { request } = await requestOf(services, 'mso_mdoc')
  const text = await presentOurs('mso_mdoc', credential, { signer }, request)
  await step('verification', async () => {
    const response = mdoc.DeviceResponse.fromEncodedForOid4Vp(text)
    const sessionTranscript = await transcriptOf(request, await thumbprintOf(request))
    await response.verify({ sessionTranscript, trustedCertificates: anchorsOf(services) }, contextWith())
    assert.deepEqual(response.documents[0]?.issuerSigned.getPrettyClaims(NAMESPACE), claims[NAMESPACE])
  })
}

async function issue(services: Services, { signer }: Holder): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  const at = (seconds: number) => new Date((now + seconds) * 1000)
  const document = await new mdoc.Issuer(DOCTYPE, contextWith(services.issuerKey))
    .addIssuerNamespace(NAMESPACE, sampleOf('mso_mdoc').dataset[NAMESPACE] as object)
    .sign({
      signingKey: { ...jwkOf(services.issuerKey), alg: 'ES256' },
      algorithm: mdoc.SignatureAlgorithm.ES256,
      digestAlgorithm: 'SHA-256',
      validityInfo: { signed: at(0), validFrom: at(0), validUntil: at(3600) },
      deviceKeyInfo: { deviceKey: mdoc.DeviceKey.fromJwk({ ...signer.jwk }) },
      certificates: [derOf(services.files.get('issuer.pem'))],
    })
  return document.encodedForOid4Vci
}

async function issues(services: Services, step: Step): Promise<void> {
  const holder = await makeHolder()
  const credential = await step('credential', () => issue(services, holder))
  const { sessionId, request } = await step('request', () => requestOf(services, 'mso_mdoc'))
  const text = await step('presentation', () => presentOurs('mso_mdoc', credential, holder, request))
  await step('verification', async () => {
    await answer(services, request, text)
    await assertVerified(services, 'mso_mdoc', sessionId)
  })
}

function anchorsOf(services: Services): readonly Uint8Array[] {
  return [derOf(services.files.get('anchors/0.pem'))]
}

function derOf(pem = ''): Uint8Array {
  return new Uint8Array(new X509Certificate(pem).raw)
}

const row = { packages: ['@owf/mdoc'], specification: 'ISO 18013-5, OpenID4VP 1.0', format: 'mso_mdoc' }

/** The package in each role. */
export const mdocRows: readonly Row[] = [
  { ...row, role: 'holder', run: holds },
  { ...row, role: 'verifier', run: verifies },
  { ...row, role: 'issuer', run: issues },
]
