/**
 * The work that the floor does for real: signatures, and the decryption of a response, by `node:crypto` and without any
 * check.
 */
import {
  createDecipheriv,
  createHash,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  type JsonWebKey,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { decode, encode } from 'cborg'

/** The kind of signatures that are verified in a body before the answer. */
export type VerifiedKind = 'proof' | 'sd-jwt' | 'vp-jwt' | 'mdoc'
/** The part of an answer that is signed anew: the first JWS, or the COSE_Sign1 of a credential. */
export type SignedKind = 'jws' | 'mdoc'

/** The parts of a verification that do not change from one presentation to the next. */
export interface Constants {
  readonly issuerKey: KeyObject
  /**
   * The key of the session, when its response is encrypted: a JWK, imported for each response as the key of a session
   * has to be.
   */
  readonly responseKey?: JsonWebKey | undefined
  /** The bytes that the device of an mdoc signs for the session. */
  readonly deviceSigned?: Uint8Array | undefined
}

export function verifyBody(what: VerifiedKind, body: string, constants: Constants): boolean {
  if (what === 'proof') return provedKey(body)
  const presentation = readPresentation(body, constants)
  if (what === 'mdoc') return verifiedMdoc(presentation, constants)
  return what === 'sd-jwt' ? verifiedSdJwt(presentation, constants) : verifiedVpJwt(presentation, constants)
}

/** Gives the recorded body, signed anew each time. */
export function writer(what: SignedKind | undefined, body: string, key: KeyObject): () => string {
  if (what === undefined) return () => body
  return what === 'mdoc' ? mdocWriter(body, key) : jwsWriter(body, key)
}

function jwsWriter(body: string, key: KeyObject): () => string {
  const [jws = '', signedText = ''] = /([\w-]+\.[\w-]+)\.[\w-]{86}/.exec(body) ?? []
  if (signedText === '') throw new Error(`nothing to sign in ${body}`)
  const begin = body.indexOf(jws)
  const [before, after] = [body.slice(0, begin), body.slice(begin + jws.length)]
  return () => `${before}${signedText}.${signedBytes(Buffer.from(signedText), key).toString('base64url')}${after}`
}

function mdocWriter(body: string, key: KeyObject): () => string {
  const { credentials } = JSON.parse(body) as { credentials: [{ credential: string }] }
  const bytes = Buffer.from(credentials[0].credential, 'base64url')
  const [protectedHeader, , payload, signature] = member(decodeCbor(bytes), 'issuerAuth') as Sign1
  const at = bytes.indexOf(signature)
  const signedStructure = sigStructure(protectedHeader, payload)
  return () => {
    signedBytes(signedStructure, key).copy(bytes, at)
    return JSON.stringify({ credentials: [{ credential: bytes.toString('base64url') }] })
  }
}

function provedKey(body: string): boolean {
  const { proof } = JSON.parse(body) as { proof: { jwt: string } }
  const { kid } = part(proof.jwt, 0) as { kid: string }
  return isSignedJwt(proof.jwt, importKey(json(kid.slice('did:jwk:'.length, -'#0'.length))))
}

function readPresentation(body: string, { responseKey }: Constants): string {
  const form = new URLSearchParams(body)
  const token =
    responseKey === undefined
      ? (JSON.parse(form.get('vp_token') ?? '') as { card: [string] })
      : (JSON.parse(decryptJwe(form.get('response') ?? '', responseKey)) as { vp_token: { card: [string] } }).vp_token
  return token.card[0]
}

function verifiedSdJwt(presentation: string, { issuerKey }: Constants): boolean {
  const parts = presentation.split('~')
  const [credential = '', keyBinding = ''] = [parts[0], parts.at(-1)]
  return isSignedJwt(credential, issuerKey) && isSignedJwt(keyBinding, boundKey(credential))
}

function verifiedVpJwt(presentation: string, { issuerKey }: Constants): boolean {
  const { vp } = part(presentation, 1) as { vp: { verifiableCredential: [string] } }
  const [credential] = vp.verifiableCredential
  return isSignedJwt(credential, issuerKey) && isSignedJwt(presentation, boundKey(credential))
}

function boundKey(credential: string): KeyObject {
  return importKey((part(credential, 1) as { cnf: { jwk: object } }).cnf.jwk)
}

type Sign1 = [protectedHeader: Uint8Array, unprotectedHeader: unknown, payload: Uint8Array, signature: Uint8Array]

function verifiedMdoc(presentation: string, { issuerKey, deviceSigned = new Uint8Array() }: Constants): boolean {
  const [document] = member(decodeCbor(Buffer.from(presentation, 'base64url')), 'documents') as [unknown]
  const [protectedHeader, , payload, signature] = member(member(document, 'issuerSigned'), 'issuerAuth') as Sign1
  const securityObject = decodeCbor(decodeCbor(payload) as Uint8Array)
  const key = member(member(securityObject, 'deviceKeyInfo'), 'deviceKey') as Map<number, Uint8Array>
  const [x = '', y = ''] = [-2, -3].map((label) => Buffer.from(key.get(label) ?? []).toString('base64url'))
  const auth = member(member(member(document, 'deviceSigned'), 'deviceAuth'), 'deviceSignature') as Sign1
  return (
    isSigned(sigStructure(protectedHeader, payload), signature, issuerKey) &&
    isSigned(deviceSigned, auth[3], importKey({ kty: 'EC', crv: 'P-256', x, y }))
  )
}

/** Decodes CBOR, without the meaning of a tag: 24 leaves the embedded bytes. */
function decodeCbor(bytes: Uint8Array): unknown {
  const inner = (value: () => unknown) => value()
  return decode(bytes, { useMaps: true, tags: { 0: inner, 24: inner, 1004: inner } })
}

function member(map: unknown, name: string): unknown {
  return (map as Map<string, unknown>).get(name)
}

function sigStructure(protectedHeader: Uint8Array, payload: Uint8Array): Uint8Array {
  return encode(['Signature1', protectedHeader, new Uint8Array(0), payload])
}

/** Decrypts a JWE of the load generator with ECDH-ES and without any check. RFC 7516; RFC 7518 section 4.6.2. */
function decryptJwe(jwe: string, jwk: JsonWebKey): string {
  const [header = '', , iv = '', ciphertext = '', tag = ''] = jwe.split('.')
  const { epk, enc } = json(header) as { epk: object; enc: 'A128GCM' | 'A256GCM' }
  const privateKey = createPrivateKey({ key: jwk, format: 'jwk' })
  const bits = enc === 'A256GCM' ? 256 : 128
  const secret = diffieHellman({ privateKey, publicKey: importKey(epk) })
  const info = Buffer.concat([
    uint32(1),
    secret,
    uint32(enc.length),
    Buffer.from(enc),
    uint32(0),
    uint32(0),
    uint32(bits),
  ])
  const key = createHash('sha256')
    .update(info)
    .digest()
    .subarray(0, bits / 8)
  const decipher = createDecipheriv(`aes-${bits}-gcm`, key, Buffer.from(iv, 'base64url'), { authTagLength: 16 })
  decipher.setAAD(Buffer.from(header))
  decipher.setAuthTag(Buffer.from(tag, 'base64url'))
  return decipher.update(ciphertext, 'base64url', 'utf8') + decipher.final('utf8')
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function importKey(jwk: object): KeyObject {
  return createPublicKey({ key: { ...jwk }, format: 'jwk' })
}

function signedBytes(data: Uint8Array, key: KeyObject): Buffer {
  return sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' })
}

function isSignedJwt(jwt: string, key: KeyObject): boolean {
  const end = jwt.lastIndexOf('.')
  return isSigned(Buffer.from(jwt.slice(0, end)), Buffer.from(jwt.slice(end + 1), 'base64url'), key)
}

function isSigned(data: Uint8Array, signature: Uint8Array, key: KeyObject): boolean {
  return verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, signature)
}

function part(jwt: string, index: number): object {
  return json(jwt.split('.')[index] ?? '')
}

function json(text: string): object {
  return JSON.parse(Buffer.from(text, 'base64url').toString()) as object
}
