/**
 * Parses and writes COSE_Sign1 and COSE_Key, without verifying signatures. RFC 9052 sections 3, 4.2 and 7; RFC 9360 for
 * certificates.
 */
import { toBase64url } from './base64url.ts'
import {
  asArray,
  asBytes,
  asMap,
  CBOR_TAG,
  type Cbor,
  type CborKey,
  type CborMap,
  contentOfTag,
  decodeCbor,
  encodeCbor,
  isArray,
  isBytes,
} from './cbor.ts'
import { type Curve, curves, uncompressPoint } from './curve.ts'
import type { JsonObject } from './json.ts'
import { malformed, readPart } from './malformed.ts'

export interface Sign1 {
  /** The encoded protected header, which is signed. */
  readonly protectedBytes: Uint8Array
  /** The algorithm in the protected header; undefined when absent or not an integer. */
  readonly alg: number | undefined
  /** The `typ` of the protected header. RFC 9596 section 2. */
  readonly typ: string | number | undefined
  /** The certificates of either header (DER), the signer's own first. RFC 9360 section 2. */
  readonly x5chain: readonly Uint8Array[]
  /** The payload; undefined when it is detached. */
  readonly payload: Uint8Array | undefined
  readonly signature: Uint8Array
}

/** Labels of headers: RFC 9052 section 3.1, RFC 9360 section 2, RFC 9596. */
const HEADER = { alg: 1, crit: 2, kid: 4, typ: 16, x5chain: 33 } as const
/** Labels and values of keys: RFC 9052 section 7.1, RFC 9053 section 7. */
const KEY = { kty: 1, alg: 3, keyOps: 4, crv: -1, x: -2, y: -3, d: -4 } as const
/** The operations of a key for signatures: `sign`, which a wallet may list, and `verify`. */
const SIGNING_OPERATIONS: readonly unknown[] = [1, 2]
const OKP = 1
const EC2 = 2
const COSE_CURVES = [
  { id: 1, ...curves['P-256'] },
  { id: 2, ...curves['P-384'] },
  { id: 3, ...curves['P-521'] },
  { id: 6, ...curves.Ed25519 },
] as const

/** Parses a COSE_Sign1, tagged or not. Throws a MalformedError whose message begins with `what`. */
export function readSign1(value: Cbor | undefined, what: string): Sign1 {
  const [protectedHeader, unprotectedHeader, payload, signature, ...more] = asArray(
    contentOfTag(value, CBOR_TAG.sign1) ?? value,
    what,
  )
  if (signature === undefined || more.length > 0) malformed(`${what} is not a COSE_Sign1 of four parts`)
  const protectedBytes = asBytes(protectedHeader, `the protected header of ${what}`)
  const header = readHeader(protectedBytes, what)
  const unprotectedMembers = asMap(unprotectedHeader, `the unprotected header of ${what}`)
  // RFC 9052 section 3.1: `crit` lists headers that the recipient must understand; none is supported.
  if (header.has(HEADER.crit) || unprotectedMembers.has(HEADER.crit)) {
    malformed(`${what} names critical headers, and none is supported`)
  }
  const [alg, typ, chain] = [HEADER.alg, HEADER.typ, HEADER.x5chain].map((label) => header.get(label))
  const unprotectedChain = unprotectedMembers.get(HEADER.x5chain)
  // RFC 9052 section 3: a label is in one of the two headers.
  if (chain !== undefined && unprotectedChain !== undefined) malformed(`the x5chain of ${what} is in both headers`)
  return {
    protectedBytes,
    alg: typeof alg === 'number' ? alg : undefined,
    typ: typeof typ === 'number' || typeof typ === 'string' ? typ : undefined,
    x5chain: readX5chain(chain ?? unprotectedChain, what),
    payload: payload === null ? undefined : asBytes(payload, `the payload of ${what}`),
    signature: asBytes(signature, `the signature of ${what}`),
  }
}

/** Returns the Sig_structure, which a COSE_Sign1 signs. RFC 9052 section 4.4. */
export function signedBytes(protectedBytes: Uint8Array, payload: Uint8Array): Uint8Array {
  return encodeCbor(['Signature1', protectedBytes, new Uint8Array(0), payload])
}

export interface Sign1Content {
  readonly alg: number
  /** The `typ` for the protected header. RFC 9596. */
  readonly typ?: string
  /** The key identifier, for the unprotected header. */
  readonly kid?: string
  readonly x5chain?: readonly Uint8Array[]
  /** Whether `x5chain` goes into the protected header. */
  readonly isChainProtected?: boolean
  readonly payload: Uint8Array
  /** Whether the payload is left out, since the recipient has it. */
  readonly detached: boolean
}

/** Makes an untagged COSE_Sign1. `sign` returns the raw signature of the given bytes (r and s, for ECDSA). */
export async function writeSign1(
  { alg, typ, kid, x5chain = [], isChainProtected = false, payload, detached }: Sign1Content,
  sign: (data: Uint8Array) => Promise<Uint8Array>,
): Promise<Cbor> {
  const [leaf] = x5chain
  // RFC 9360 section 2: a single certificate is not in an array.
  const chain = x5chain.length > 1 ? x5chain : leaf
  const protectedBytes = encodeCbor(
    makeHeader([
      [HEADER.alg, alg],
      [HEADER.typ, typ],
      [HEADER.x5chain, isChainProtected ? chain : undefined],
    ]),
  )
  const unprotectedHeader = makeHeader([
    [HEADER.kid, kid === undefined ? undefined : Buffer.from(kid)],
    [HEADER.x5chain, isChainProtected ? undefined : chain],
  ])
  const signature = await sign(signedBytes(protectedBytes, payload))
  return [protectedBytes, unprotectedHeader, detached ? null : payload, signature]
}

/**
 * Converts a public COSE_Key on a supported curve to a JWK. Throws a MalformedError for any other key, for a private
 * one, and if `alg` or `key_ops` do not allow signatures. RFC 9053 section 2.1.
 */
export function readCoseKey(value: Cbor | undefined): JsonObject {
  const key = asMap(value, 'the key')
  if (key.has(KEY.d)) malformed('the key is private; send a public key')
  const curve = COSE_CURVES.find(({ id }) => id === key.get(KEY.crv))
  const kty = curve?.crv === 'Ed25519' ? OKP : EC2
  if (curve === undefined || key.get(KEY.kty) !== kty) {
    return malformed('unsupported key; use EC2 on P-256, P-384 or P-521, or OKP on Ed25519')
  }
  const { crv, namedCurve, size } = curve
  const [alg, operations] = [key.get(KEY.alg), key.get(KEY.keyOps)]
  const algorithms: readonly unknown[] = curve.cose
  if (alg !== undefined && !algorithms.includes(alg)) malformed(`the key on ${crv} is not for its alg`)
  const isForSignatures = isArray(operations) && operations.some((each) => SIGNING_OPERATIONS.includes(each))
  if (operations !== undefined && !isForSignatures)
    malformed('the key is not for signatures (its key_ops name neither verify nor sign)')
  const x = readCoordinate(key.get(KEY.x), size, 'x')
  if (namedCurve === undefined) return { kty: 'OKP', crv, x: toBase64url(x) }
  const sign = key.get(KEY.y)
  const y = typeof sign === 'boolean' ? yOf(x, sign, namedCurve) : readCoordinate(sign, size, 'y')
  return { kty: 'EC', crv, x: toBase64url(x), y: toBase64url(y) }
}

/** Converts a public JWK on a supported curve to a COSE_Key. */
export function writeCoseKey(jwk: { readonly crv: Curve; readonly x: string; readonly y?: string }): Cbor {
  const curve = COSE_CURVES.find(({ crv }) => crv === jwk.crv)
  if (curve === undefined) throw new TypeError(`COSE has no curve ${jwk.crv} here`)
  const decodeBytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64url'))
  return new Map<CborKey, Cbor>([
    [KEY.kty, jwk.y === undefined ? OKP : EC2],
    [KEY.crv, curve.id],
    [KEY.x, decodeBytes(jwk.x)],
    ...(jwk.y === undefined ? [] : [[KEY.y, decodeBytes(jwk.y)] as const]),
  ])
}

/** Makes a header from the members with a value. */
function makeHeader(members: readonly (readonly [CborKey, Cbor | undefined])[]): CborMap {
  return new Map(members.flatMap(([label, value]) => (value === undefined ? [] : [[label, value] as const])))
}

/** Parses a protected header. Without members, it may be empty bytes. RFC 9052 section 3. */
function readHeader(bytes: Uint8Array, what: string): CborMap {
  if (bytes.length === 0) return new Map()
  return readPart(`the protected header of ${what}`, () => asMap(decodeCbor(bytes), 'it'))
}

function readX5chain(value: Cbor | undefined, what: string): readonly Uint8Array[] {
  if (value === undefined) return []
  if (isBytes(value)) return [value]
  if (!isArray(value)) return malformed(`the x5chain of ${what} is neither bytes nor an array`)
  return value.map((each) => asBytes(each, `a certificate of ${what}`))
}

function readCoordinate(value: Cbor | undefined, size: number, name: string): Uint8Array {
  const bytes = asBytes(value, `the ${name} of the key`)
  return bytes.length === size ? bytes : malformed(`the ${name} of the key is not ${size} bytes`)
}

/** Computes y from x and the sign of y. RFC 9053 section 7.1.1. */
function yOf(x: Uint8Array, sign: boolean, namedCurve: string): Uint8Array {
  return uncompressPoint(Buffer.concat([Uint8Array.of(sign ? 3 : 2), x]), namedCurve, 'the x of the key').y
}
