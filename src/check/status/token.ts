/** Parses status list tokens, as JWT and as CWT. Token Status List, Status List Token. */
import { fromBase64url } from '../../codec/base64url.ts'
import { asBytes, asMap, type Cbor, contentOfTag, decodeCbor } from '../../codec/cbor.ts'
import { readSign1 } from '../../codec/cose.ts'
import { isObject, type Json, own, ownString } from '../../codec/json.ts'
import { readJws } from '../../codec/jws.ts'
import { malformed } from '../../codec/malformed.ts'
import type { StatusWidth } from '../../codec/status-list.ts'
import { chainOf, readNumericInstants } from '../../credential/evidence-readers.ts'
import { isJwsSignedBy, isSign1SignedBy } from '../../keys/signature.ts'
import { type FetchedStatusList, unpack } from './status-list.ts'

export const TOKEN_TYPES = { jwt: 'application/statuslist+jwt', cwt: 'application/statuslist+cwt' } as const

/** The numbers of CWT claims. RFC 8392 sections 4 and 6; Token Status List, IANA. */
const CLAIM = { sub: 2, exp: 4, nbf: 5, iat: 6, ttl: 65_534, list: 65_533 } as const
const CWT = 61
/**
 * The accepted types of a CWT status list token, both as texts, since no CoAP content format is registered yet. Token
 * Status List, IANA.
 */
const CWT_TYPES: readonly unknown[] = [TOKEN_TYPES.cwt, 'statuslist+cwt']
const WIDTHS: readonly unknown[] = [1, 2, 4, 8]

/** The claims of a token in either form, as JSON values; only `lst` is decoded. */
interface Claims {
  readonly sub: unknown
  readonly iat: unknown
  readonly nbf: unknown
  readonly exp: unknown
  readonly ttl: unknown
  readonly bits: unknown
  readonly packedList: Uint8Array
}

/** Parses a JWT status list token. Throws a MalformedError if the text is not a list for `uri`. */
export async function readStatusListJwt(text: string, uri: string): Promise<FetchedStatusList> {
  const jws = readJws(text)
  const { header, payload } = jws
  if (ownString(header, 'typ') !== 'statuslist+jwt') malformed('its type is not statuslist+jwt')
  const claim = (name: string): Json | undefined => own(payload, name)
  const list = claim('status_list')
  const lst = isObject(list) ? ownString(list, 'lst') : undefined
  if (!isObject(list) || lst === undefined) return malformed('it has no status_list with a lst')
  const claims = { sub: claim('sub'), iat: claim('iat'), nbf: claim('nbf'), exp: claim('exp'), ttl: claim('ttl') }
  return {
    chain: chainOf(header),
    isSignedBy: (key) => isJwsSignedBy(jws, key),
    ...(await readContent({ ...claims, bits: own(list, 'bits'), packedList: fromBase64url(lst) }, uri)),
  }
}

/** Parses a CWT status list token. Throws a MalformedError if the bytes are not a list for `uri`. */
export async function readStatusListCwt(bytes: Uint8Array, uri: string): Promise<FetchedStatusList> {
  const token = decodeCbor(bytes, { longNumbers: true })
  const sign1 = readSign1(contentOfTag(token, CWT) ?? token, 'the token')
  if (!CWT_TYPES.includes(sign1.typ)) malformed(`its type is not ${TOKEN_TYPES.cwt}`)
  const { payload } = sign1
  if (payload === undefined) return malformed('it has no payload')
  const claims = asMap(decodeCbor(payload, { longNumbers: true }), 'its payload')
  const claim = (name: keyof typeof CLAIM): Cbor | undefined => claims.get(CLAIM[name])
  const list = asMap(claim('list'), 'its status_list')
  const times = { iat: claim('iat'), nbf: claim('nbf'), exp: claim('exp'), ttl: claim('ttl') }
  const content = { sub: claim('sub'), bits: list.get('bits'), packedList: asBytes(list.get('lst'), 'its lst') }
  return {
    chain: sign1.x5chain,
    isSignedBy: (key) => isSign1SignedBy(sign1, payload, key),
    ...(await readContent({ ...times, ...content }, uri)),
  }
}

async function readContent(claims: Claims, uri: string): Promise<Omit<FetchedStatusList, 'chain' | 'isSignedBy'>> {
  const { sub, iat, nbf, exp, ttl, bits, packedList } = claims
  if (sub !== uri) malformed('its sub is not the address that it was fetched from')
  if (iat === undefined) malformed('it does not say when it was issued (iat)')
  if (ttl !== undefined && !(typeof ttl === 'number' && ttl > 0)) malformed('its ttl is not a positive number')
  if (!WIDTHS.includes(bits)) malformed('`bits` must be 1, 2, 4 or 8')
  return {
    issuedAt: readNumericInstants('iat', iat),
    validity: { notBefore: readNumericInstants('nbf', nbf), notAfter: readNumericInstants('exp', exp) },
    ttlSeconds: ttl,
    identifiers: [],
    purposes: [],
    width: bits as StatusWidth,
    first: 'lowest',
    bytes: await unpack(packedList, 'zlib'),
  }
}
