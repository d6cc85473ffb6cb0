/**
 * Credentials by a self-made issuer: what a trusted issuer said, signed anew by a key and a certificate that somebody
 * made in its name, and that nobody trusts.
 */
import { fromBase64url, toBase64url } from '../../src/codec/base64url.ts'
import { asArray, asBytes, asMap, decodeCbor, encodeCbor, isArray } from '../../src/codec/cbor.ts'
import { signedBytes } from '../../src/codec/cose.ts'
import { readDer, readSequence, writeBitString, writeInteger, writeOid, writeSequence } from '../../src/codec/der.ts'
import type { JsonObject } from '../../src/codec/json.ts'
import { readJws, writeJws } from '../../src/codec/jws.ts'
import type { Signer } from '../../src/keys/signer.ts'

/** ECDSA with SHA-256, and keys on P-256. RFC 5758 section 3.2, RFC 5480 section 2.1.1. */
const ES256 = '1.2.840.10045.4.3.2'
const EC_PUBLIC_KEY = '1.2.840.10045.2.1'
const P256 = '1.2.840.10045.3.1.7'
/** Labels of COSE: RFC 9052 section 3.1, RFC 9053 section 2.1, RFC 9360 section 2. */
const COSE = { alg: 1, x5chain: 33, es256: -7 } as const
/** The place of the members of a certificate of version 3. RFC 5280 section 4.1. */
const AT = { algorithm: 2, issuer: 3, subject: 5, publicKey: 6 } as const
const SIZE = 32

/**
 * Signs the JWT of a credential again as another issuer, and keeps what stands behind it; `signer` has a key on P-256.
 */
export async function resignJwt(credential: string, signer: Signer): Promise<string> {
  const [jwt = '', ...rest] = credential.split('~')
  const { header, payload } = readJws(jwt)
  const [first] = header.x5c as readonly string[]
  const certificate = await selfSign(Buffer.from(first ?? '', 'base64'), signer)
  const changedHeader: JsonObject = { ...header, alg: 'ES256', x5c: [Buffer.from(certificate).toString('base64')] }
  return [await writeJws(changedHeader, payload, (data) => signer.sign(data)), ...rest].join('~')
}

/** Signs an mdoc, in the form of its issuer, again as another issuer. ISO/IEC 18013-5 section 9.1.2.4. */
export async function resignMdoc(credential: string, signer: Signer): Promise<string> {
  const issuerSigned = asMap(decodeCbor(fromBase64url(credential)), 'the credential')
  const [, header, payload] = asArray(issuerSigned.get('issuerAuth'), 'issuerAuth')
  const unprotectedHeader = asMap(header, 'the unprotected header')
  const chain = unprotectedHeader.get(COSE.x5chain)
  const first = asBytes(isArray(chain) ? chain[0] : chain, 'the certificate')
  const protectedBytes = encodeCbor(new Map([[COSE.alg, COSE.es256]]))
  const signedPayload = asBytes(payload, 'the payload')
  const issuerAuth = [
    protectedBytes,
    new Map([...unprotectedHeader, [COSE.x5chain, await selfSign(first, signer)] as const]),
    signedPayload,
    await signer.sign(signedBytes(protectedBytes, signedPayload)),
  ]
  return toBase64url(encodeCbor(new Map([...issuerSigned, ['issuerAuth', issuerAuth] as const])))
}

/** Makes the certificate self-signed with another key: each name and each right is still that of the trusted issuer. */
async function selfSign(certificate: Uint8Array, signer: Signer): Promise<Uint8Array> {
  const [tbsCertificate] = readSequence(readDer(certificate))
  if (tbsCertificate === undefined) throw new Error('the certificate is empty')
  const algorithm = writeSequence(writeOid(ES256))
  const members: Uint8Array[] = readSequence(tbsCertificate).map(({ der }) => der)
  members[AT.algorithm] = algorithm
  members[AT.issuer] = members[AT.subject] ?? new Uint8Array()
  members[AT.publicKey] = encodePublicKeyInfo(signer)
  const content = writeSequence(...members)
  const signature = await signer.sign(content)
  const halves = [signature.slice(0, SIZE), signature.slice(SIZE)].map((half) => writeInteger(half))
  return writeSequence(content, algorithm, writeBitString(writeSequence(...halves)))
}

/** Encodes the SubjectPublicKeyInfo of an uncompressed point. RFC 5480 section 2.2. */
function encodePublicKeyInfo({ jwk }: Signer): Uint8Array {
  if (jwk.kty !== 'EC') throw new Error('the key is on no curve of NIST')
  const point = Buffer.concat([Buffer.of(4), fromBase64url(jwk.x), fromBase64url(jwk.y)])
  return writeSequence(writeSequence(writeOid(EC_PUBLIC_KEY), writeOid(P256)), writeBitString(point))
}
