/** Issued credentials and the status lists they name, read as a verifier that is not ours would read them. */
import { createPublicKey, verify, X509Certificate } from 'node:crypto'
import { gunzipSync, inflateSync } from 'node:zlib'
import { importX509, jwtVerify } from 'jose'
import { fromBase64url } from '../../src/codec/base64url.ts'
import { CBOR_TAG, type Cbor, type CborMap, contentOfTag, decodeCbor } from '../../src/codec/cbor.ts'
import { signedBytes } from '../../src/codec/cose.ts'
import { formatOf } from '../../src/credential/formats.ts'
import { expectIssued, type Ready, readySession } from './issuance.ts'
import { ISSUER_URL, type Services } from './services.ts'
import { authorization, declare, fetchNonce, configuration as usual, dataset as usualDataset } from './wire.ts'

export interface Reference {
  readonly idx: number
  readonly uri: string
}

export interface IssuedCredential extends Ready {
  readonly credential: string
  readonly status: Reference
}

/** Issues a credential in a session of its own. */
export async function issueWithStatus(
  services: Services,
  configuration: object = usual,
  dataset: object = usualDataset,
): Promise<IssuedCredential> {
  const id = await declare(services, configuration)
  const ready = await readySession(services, { credential_configurations: [id], credential_dataset: dataset })
  const credential = await expectIssued(ready)
  const { format } = configuration as { readonly format: string }
  return { ...ready, credential, status: referenceOf(format, credential) as Reference }
}

/** Issues another copy for the same session. */
export async function copyOf(of: IssuedCredential): Promise<IssuedCredential> {
  const again = { ...of, nonce: await fetchNonce(of.services, of.sessionId) }
  const credential = await expectIssued(again)
  return { ...again, credential, status: referenceOf('jwt_vc_json-ld', credential) as Reference }
}

/** Returns the reference of the credential to its status, as wallets and verifiers here read it. */
export function referenceOf(format: string, credential: string): Reference | undefined {
  const status = formatOf(format)?.readHeld(credential).status as { readonly status_list: Reference } | undefined
  return status?.status_list
}

/** Revokes, suspends or reinstates, as the integrating application does. */
export async function act(services: Services, name: string, sessionId: string): Promise<[number, unknown]> {
  const url = `${ISSUER_URL}/credential-status/${name}/${sessionId}`
  const response = await services.fetch(url, { method: 'POST', headers: authorization })
  return [response.status, await response.json()]
}

/** Reads the entries of the list, one number each, from its JWT: signed by the certificate in it, and about itself. */
export async function readList(services: Services, uri: string): Promise<readonly number[]> {
  const response = await services.fetch(uri, { headers: { accept: 'application/statuslist+jwt' } })
  const jwt = await response.text()
  const payload = await verifiedJwt(services, jwt, 'statuslist+jwt')
  if (payload.sub !== uri) throw new Error(`it is about ${String(payload.sub)}`)
  const { bits, lst } = payload.status_list as { readonly bits: number; readonly lst: string }
  return entriesOf(inflateSync(fromBase64url(lst)), bits)
}

/** Reads the same entries from its CWT. */
export async function readCborList(services: Services, uri: string): Promise<readonly number[]> {
  const response = await services.fetch(uri, { headers: { accept: 'application/statuslist+cwt' } })
  const claims = verifiedCwt(new Uint8Array(await response.arrayBuffer()))
  if (claims.get(2) !== uri) throw new Error('it is about something else')
  const list = claims.get(65_533) as CborMap
  return entriesOf(inflateSync(list.get('lst') as Uint8Array), list.get('bits') as number)
}

/** Reads the entries of a compressed byte array. Token Status List, Compressed Byte Array. */
function entriesOf(bytes: Uint8Array, bits: number): readonly number[] {
  const [inByte, mask] = [8 / bits, 2 ** bits - 1]
  const entryAt = (index: number): number =>
    ((bytes[Math.floor(index / inByte)] ?? 0) >> ((index % inByte) * bits)) & mask
  return Array.from({ length: bytes.length * inByte }, (_, index) => entryAt(index))
}

/** Reads the bits of a BitstringStatusListCredential, which is checked like any. */
export async function readBitstring(services: Services, uri: string): Promise<string> {
  const jwt = await (await services.fetch(uri)).text()
  const { credentialSubject } = await verifiedJwt(services, jwt, 'vc+jwt')
  const { encodedList } = credentialSubject as { readonly encodedList: string }
  if (!encodedList.startsWith('u')) throw new Error('it is not base64url by its multibase prefix')
  return [...gunzipSync(fromBase64url(encodedList.slice(1)))].map((byte) => byte.toString(2).padStart(8, '0')).join('')
}

export async function verifiedJwt(services: Services, jwt: string, typ: string): Promise<Record<string, unknown>> {
  const header = JSON.parse(Buffer.from(jwt.split('.')[0] ?? '', 'base64url').toString()) as { x5c: string[] }
  const pem = `-----BEGIN CERTIFICATE-----\n${header.x5c[0] ?? ''}\n-----END CERTIFICATE-----`
  const { payload } = await jwtVerify(jwt, await importX509(pem, 'ES256'), { typ, currentDate: services.clock.now })
  return payload
}

/** Returns the claims of a tagged COSE_Sign1, verified by the certificate in it. RFC 9052 section 4.4; RFC 8392. */
export function verifiedCwt(bytes: Uint8Array): CborMap {
  const [header, , payload, signature] = contentOfTag(decodeCbor(bytes), CBOR_TAG.sign1) as readonly Cbor[]
  const protectedHeader = decodeCbor(header as Uint8Array) as CborMap
  if (protectedHeader.get(16) !== 'application/statuslist+cwt') throw new Error('it has another type')
  const certificate = new X509Certificate(Buffer.from(protectedHeader.get(33) as Uint8Array))
  const key = {
    key: createPublicKey(certificate.publicKey.export({ type: 'spki', format: 'pem' })),
    dsaEncoding: 'ieee-p1363',
  } as const
  const data = signedBytes(header as Uint8Array, payload as Uint8Array)
  if (!verify('sha256', data, key, signature as Uint8Array)) throw new Error('the signature does not hold')
  return decodeCbor(payload as Uint8Array) as CborMap
}
