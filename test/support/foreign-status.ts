/** Status lists as issuers publish them, with one thing wrong where a test wants it, and a network that has them. */
import type { KeyObject } from 'node:crypto'
import { deflateSync, gzipSync } from 'node:zlib'
import { toBase64url } from '../../src/codec/base64url.ts'
import { CBOR_TAG, type Cbor, type CborKey, encodeCbor, makeTagged } from '../../src/codec/cbor.ts'
import { signedBytes } from '../../src/codec/cose.ts'
import type { Json, JsonObject } from '../../src/codec/json.ts'
import { writeJws } from '../../src/codec/jws.ts'
import { setStatus } from '../../src/codec/status-list.ts'
import {
  type HttpClientRequest,
  type HttpClientResponse,
  type Outbound,
  OutboundError,
} from '../../src/http/outbound.ts'
import { certify, signWith, type World } from './forge.ts'
import { ISSUER_URL } from './services.ts'

export const ENTRIES = 131_072
/** The index of a credential in its list. */
export const IDX = 12_345

type Answer = HttpClientResponse | (() => Promise<HttpClientResponse>)

/** The documents by address, and the requests so far. */
interface Network {
  readonly at: Map<string, Answer>
  readonly requests: HttpClientRequest[]
  readonly outbound: Outbound
}

export function makeNetwork(): Network {
  const at = new Map<string, Answer>()
  const requests: HttpClientRequest[] = []
  const outbound: Outbound = async (request) => {
    requests.push(request)
    const answer = at.get(request.url)
    if (answer === undefined) throw new OutboundError(`${new URL(request.url).host} takes no connections`)
    return typeof answer === 'function' ? answer() : answer
  }
  return { at, requests, outbound }
}

/** A list in parts, all of which may be changed before it is signed. */
export interface ListParts {
  header: JsonObject
  payload: JsonObject
  key: KeyObject
  /** The signed text, and its media type. */
  afterwards: (text: string) => string
  contentType: string
}

export interface CwtParts {
  protectedHeader: Map<CborKey, Cbor>
  unprotectedHeader: Map<CborKey, Cbor>
  claims: Map<CborKey, Cbor>
  key: KeyObject
  contentType: string
}

/** Returns the issuer's own certificate with those that it sends along, for `x5c`. */
function issuerChain({ ca, issuerKey }: World): Buffer[] {
  return [certify(ca, issuerKey)]
}

/** Makes a list of two bits in which the entry at `index` is `status` and all others are valid. */
export function entries(index: number, status: number, width: 1 | 2 | 4 | 8 = 2): Uint8Array {
  const bytes = new Uint8Array((ENTRIES * width) / 8)
  setStatus(bytes, width, index, status)
  return bytes
}

/** Makes the same list for the W3C: one bit, the first entry in the highest. */
export function bitstring(index: number, set: boolean): Uint8Array {
  const bytes = new Uint8Array(ENTRIES / 8)
  if (set) bytes[index >> 3] = 0x80 >> (index & 7)
  return bytes
}

const seconds = ({ services }: World): number => Math.floor(services.clock.now.getTime() / 1000)
export const base64 = (chain: readonly Buffer[]): Json[] => chain.map((der) => der.toString('base64'))

export function tokenParts(world: World, uri: string, bytes: Uint8Array): ListParts {
  const now = seconds(world)
  return {
    header: { typ: 'statuslist+jwt', alg: 'ES256', x5c: base64(issuerChain(world)) },
    payload: {
      sub: uri,
      iat: now,
      exp: now + 86_400,
      ttl: 3600,
      status_list: { bits: 2, lst: toBase64url(deflateSync(bytes)) },
    },
    key: world.issuerKey,
    afterwards: (text) => text,
    contentType: 'application/statuslist+jwt',
  }
}

export function bitstringParts(world: World, uri: string, bytes: Uint8Array): ListParts {
  return {
    header: { typ: 'vc+jwt', alg: 'ES256', x5c: base64(issuerChain(world)) },
    payload: {
      '@context': ['https://www.w3.org/ns/credentials/v2'],
      id: uri,
      type: ['VerifiableCredential', 'BitstringStatusListCredential'],
      issuer: ISSUER_URL,
      validFrom: world.services.clock.now.toISOString(),
      credentialSubject: {
        type: 'BitstringStatusList',
        statusPurpose: 'revocation',
        encodedList: `u${toBase64url(gzipSync(bytes))}`,
      },
    },
    key: world.issuerKey,
    afterwards: (text) => text,
    contentType: 'application/vc+jwt',
  }
}

export async function signList({
  header,
  payload,
  key,
  afterwards,
  contentType,
}: ListParts): Promise<HttpClientResponse> {
  const text = afterwards(await writeJws(header, payload, signWith(key)))
  return { status: 200, headers: { 'content-type': contentType }, body: Buffer.from(text) }
}

export function cwtParts(world: World, uri: string, bytes: Uint8Array): CwtParts {
  const now = seconds(world)
  const list = new Map<CborKey, Cbor>([
    ['bits', 2],
    ['lst', new Uint8Array(deflateSync(bytes))],
  ])
  return {
    protectedHeader: new Map<CborKey, Cbor>([
      [1, -7],
      [16, 'application/statuslist+cwt'],
    ]),
    unprotectedHeader: new Map<CborKey, Cbor>([[33, new Uint8Array(issuerChain(world)[0] ?? [])]]),
    claims: new Map<CborKey, Cbor>([
      [2, uri],
      [6, now],
      [4, now + 86_400],
      [65_534, 3600],
      [65_533, list],
    ]),
    key: world.issuerKey,
    contentType: 'application/statuslist+cwt',
  }
}

export async function signCwt(parts: CwtParts): Promise<HttpClientResponse> {
  const protectedBytes = encodeCbor(parts.protectedHeader)
  const payload = encodeCbor(parts.claims)
  const signature = await signWith(parts.key)(signedBytes(protectedBytes, payload))
  const sign1 = makeTagged(CBOR_TAG.sign1, [protectedBytes, parts.unprotectedHeader, payload, signature])
  return { status: 200, headers: { 'content-type': parts.contentType }, body: encodeCbor(sign1) }
}

let lists = 0
export function newListUri(): string {
  lists += 1
  return `https://issuer.example/status-list/${lists}`
}

/** Makes the members of a credential whose status is in the token at the address. */
export function tokenAt(uri: string, idx: unknown = IDX): JsonObject {
  return { status: { status_list: { idx, uri } } as JsonObject }
}

/** Makes the entry of `credentialStatus` for the list of the W3C at the address. */
export function bitstringEntryAt(uri: string, more: JsonObject = {}): JsonObject {
  return {
    type: 'BitstringStatusListEntry',
    statusPurpose: 'revocation',
    statusListIndex: String(IDX),
    statusListCredential: uri,
    ...more,
  }
}

/** Makes the entry of `status` in an mdoc for the status list at the address. */
export function mdocEntryAt(uri: string, more: Record<string, Cbor> = {}): [string, Cbor] {
  return ['status_list', new Map(Object.entries({ idx: IDX, uri, ...more }))]
}
