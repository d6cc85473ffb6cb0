/** Lists of trusted entities (LoTE) as their operators publish them, with one thing wrong where a test wants it. */
import type { KeyObject } from 'node:crypto'
import type { Json, JsonObject } from '../../src/codec/json.ts'
import { writeJws } from '../../src/codec/jws.ts'
import type { TrustListConfig } from '../../src/config/trust-lists.ts'
import { isoSeconds } from '../../src/credential/w3c/members.ts'
import { parseCertificate } from '../../src/keys/certificate.ts'
import { writeName } from '../../src/keys/certificate-name.ts'
import { toPem } from '../../src/keys/make-certificate.ts'
import { readTrustAnchors } from '../../src/keys/trust-path.ts'
import { certify, signWith } from './forge.ts'
import { makeKey } from './services.ts'

export const LIST_URL = 'https://lists.example.eu/pid-providers.jwt'
const ETSI = 'http://uri.etsi.org/19602'
export const PID_LIST = `${ETSI}/LoTEType/EUPIDProvidersList`
const ISSUANCE = `${ETSI}/SvcType/PID/Issuance`
const DAY = 86_400_000

/** A signer of lists: a key, and its certificate. */
export interface ListSigner {
  readonly key: KeyObject
  readonly der: Buffer
}

/** Makes a signer with a certificate of its own. */
export async function makeListSigner(commonName = 'Example scheme operator'): Promise<ListSigner> {
  const key = await makeKey()
  const name = writeName([['CN', commonName]])
  return { key, der: certify({ name, key }, key, { name }) }
}

/** A list in parts, all of which may be changed before it is signed. */
export interface TrustListParts {
  readonly header: JsonObject
  readonly scheme: JsonObject
  readonly services: JsonObject[]
  /** Makes the payload of the parts. */
  payloadOf: (list: JsonObject) => JsonObject
  key: KeyObject
}

/** Changes parts of a list before it is signed. */
export type ListChange = (parts: TrustListParts) => void | Promise<void>

/**
 * Makes the list of PID providers that has these certificates, each as a service that issues, but for what `change`
 * does to it.
 */
export async function makeTrustList(
  signer: ListSigner,
  certificates: readonly Buffer[],
  at: Date,
  change: ListChange = () => undefined,
): Promise<string> {
  const parts = trustListParts(signer, certificates, at)
  await change(parts)
  return signTrustList(parts)
}

function trustListParts({ key, der }: ListSigner, certificates: readonly Buffer[], at: Date): TrustListParts {
  const signer = parseCertificate(der)
  return {
    header: {
      alg: 'ES256',
      typ: 'JOSE',
      iat: Math.floor(at.getTime() / 1000),
      x5c: [der.toString('base64')],
      'x5t#S256': signer.fingerprint,
    },
    scheme: {
      LoTEVersionIdentifier: 1,
      LoTESequenceNumber: 7,
      LoTEType: PID_LIST,
      SchemeOperatorName: [{ lang: 'en', value: 'Example scheme operator' }],
      SchemeTerritory: 'EU',
      ListIssueDateTime: isoSeconds(at),
      NextUpdate: isoSeconds(new Date(at.getTime() + DAY)),
    },
    services: certificates.map((each) => serviceOf([each])),
    payloadOf: (list) => ({ LoTE: list }),
    key,
  }
}

/** Makes a service that issues, with its certificates; `more` are other members of it. */
export function serviceOf(certificates: readonly Buffer[], more: JsonObject = {}): JsonObject {
  return {
    ServiceTypeIdentifier: ISSUANCE,
    ServiceName: [{ lang: 'en', value: 'Issuance of PIDs' }],
    ServiceDigitalIdentity: { X509Certificates: certificates.map((der) => ({ val: der.toString('base64') })) },
    ...more,
  }
}

function signTrustList({ header, scheme, services, payloadOf, key }: TrustListParts): Promise<string> {
  const entities: Json[] = services.map((service) => ({
    TrustedEntityInformation: {
      TEName: [{ lang: 'en', value: 'Example provider' }],
      TEAddress: { TEPostalAddress: [], TEElectronicAddress: [] },
      TEInformationURI: [{ lang: 'en', uriValue: 'https://provider.example.eu' }],
    },
    TrustedEntityServices: [{ ServiceInformation: service }],
  }))
  const list = { ListAndSchemeInformation: scheme, TrustedEntitiesList: entities }
  return writeJws(header, payloadOf(list), signWith(key))
}

/** Returns the settings of a verifier with one list and no other anchors, and the file of the signer. */
export function listSettings({ der }: ListSigner, more: object = {}) {
  return {
    verifier: {
      issuerTrustAnchors: undefined,
      trustLists: [{ url: LIST_URL, loteType: PID_LIST, signerTrustAnchors: 'list-signers', ...more }],
    },
    files: { 'list-signers/operator.pem': toPem(der) },
  }
}

/** Returns the setting of a list that a signer with this certificate signs, as the verifier has read it. */
export function trustListConfig(der: Buffer, loteType = PID_LIST): TrustListConfig {
  const signerAnchors = readTrustAnchors([{ name: 'operator.pem', text: toPem(der) }])
  return { url: LIST_URL, loteType, signerAnchors, credentialTypes: undefined }
}
