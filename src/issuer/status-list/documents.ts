/**
 * Makes the served documents of a status list: compressed, signed and dated. Token Status List, Status List Token;
 * Bitstring Status List, BitstringStatusListCredential, secured by VC-JOSE-COSE.
 */
import { promisify } from 'node:util'
import { constants, deflate, gzip } from 'node:zlib'
import { toBase64url } from '../../codec/base64url.ts'
import { CBOR_TAG, type Cbor, type CborKey, encodeCbor, makeTagged } from '../../codec/cbor.ts'
import { writeSign1 } from '../../codec/cose.ts'
import type { JsonObject } from '../../codec/json.ts'
import { writeJws } from '../../codec/jws.ts'
import { CWT_CLAIM, STATUS_LIST_MEDIA_TYPES, type StatusPurpose } from '../../codec/status-list.ts'
import { epochSeconds } from '../../codec/time.ts'
import { algorithms } from '../../keys/signature.ts'
import type { Signer } from '../../keys/signer.ts'
import { STATUS_VALUES, STATUS_WIDTH } from '../status-rows.ts'

/** The kind of document: a status list token in JOSE or COSE, or a W3C credential for one purpose. */
export type ListKind = 'jwt' | 'cwt' | StatusPurpose

export const LIST_MEDIA_TYPES: Readonly<Record<ListKind, string>> = {
  ...STATUS_LIST_MEDIA_TYPES,
  revocation: 'application/vc+jwt',
  suspension: 'application/vc+jwt',
}

/** The content of a list, from which the document of each kind is made. */
export interface ListContent {
  /** The URL of the list, which the document contains. */
  readonly uri: string
  readonly bits: Buffer
  readonly issuer: string
  readonly ttlSeconds: number
  readonly issuedAt: Date
  readonly expiresAt: Date
}

/**
 * Compresses runs only (Z_RLE). Indices are random, so searching for longer matches costs a hundred times as much and
 * saves at most a tenth. docs/decisions/0007-status-lists.md.
 */
const COMPRESSION = { level: constants.Z_BEST_COMPRESSION, strategy: constants.Z_RLE, memLevel: 9 }
const compressors = {
  zlib: promisify<Buffer, object, Buffer>(deflate),
  gzip: promisify<Buffer, object, Buffer>(gzip),
}

/** The minimum number of entries, for herd privacy. Bitstring Status List, Bitstring Generation Algorithm. */
const LEAST_BITSTRING = 131_072

/** Makes the document of a list in one kind. */
export async function makeListDocument(kind: ListKind, list: ListContent, signer: Signer): Promise<Buffer> {
  if (kind === 'cwt') return makeStatusListCwt(list, signer)
  const jwt =
    kind === 'jwt' ? await makeStatusListJwt(list, signer) : await makeStatusListCredential(kind, list, signer)
  return Buffer.from(jwt, 'latin1')
}

/** Compresses a document with gzip, for clients that accept it. */
export function compressDocument(document: Buffer): Promise<Buffer> {
  return compressors.gzip(document, { level: constants.Z_BEST_SPEED })
}

async function makeStatusListJwt(list: ListContent, signer: Signer): Promise<string> {
  const { uri, ttlSeconds, bits } = list
  const payload = {
    sub: uri,
    ...timesOf(list),
    ttl: ttlSeconds,
    status_list: { bits: STATUS_WIDTH, lst: toBase64url(await compressors.zlib(bits, COMPRESSION)) },
  }
  // Without `kid`: some wallets (Yivi) read no token in whose header another member than `x5c` names the key.
  return signJwt({ typ: 'statuslist+jwt' }, payload, signer)
}

/** Makes the token that mdocs refer to, as ISO/IEC 18013-5 12.3.6 profiles it: `x5chain` is protected. */
async function makeStatusListCwt(list: ListContent, signer: Signer): Promise<Buffer> {
  const { iat, exp } = timesOf(list)
  const claims = new Map<CborKey, Cbor>([
    [CWT_CLAIM.sub, list.uri],
    [CWT_CLAIM.exp, exp],
    [CWT_CLAIM.iat, iat],
    [
      CWT_CLAIM.statusList,
      new Map<CborKey, Cbor>([
        ['bits', 1],
        ['lst', await compressors.zlib(packStatuses(list.bits, REVOCATIONS), COMPRESSION)],
      ]),
    ],
    [CWT_CLAIM.ttl, list.ttlSeconds],
  ])
  const content = {
    alg: algorithms[signer.alg].cose[0],
    typ: LIST_MEDIA_TYPES.cwt,
    kid: signer.kid,
    x5chain: signer.x5c.map((text) => Buffer.from(text, 'base64')),
    isChainProtected: true,
    payload: encodeCbor(claims),
    detached: false,
  }
  return Buffer.from(encodeCbor(makeTagged(CBOR_TAG.sign1, await writeSign1(content, (data) => signer.sign(data)))))
}

async function makeStatusListCredential(purpose: StatusPurpose, list: ListContent, signer: Signer): Promise<string> {
  const { uri, issuer, issuedAt, expiresAt, ttlSeconds } = list
  const encoded = await compressors.gzip(packStatuses(list.bits, BITSTRINGS[purpose], LEAST_BITSTRING / 8), COMPRESSION)
  const payload: JsonObject = {
    iss: issuer,
    ...timesOf(list),
    '@context': ['https://www.w3.org/ns/credentials/v2'],
    id: uri,
    type: ['VerifiableCredential', 'BitstringStatusListCredential'],
    issuer,
    validFrom: issuedAt.toISOString(),
    validUntil: expiresAt.toISOString(),
    credentialSubject: {
      id: `${uri}#list`,
      type: 'BitstringStatusList',
      statusPurpose: purpose,
      encodedList: `u${toBase64url(encoded)}`,
      // Bitstring Status List has `ttl` in milliseconds.
      ttl: ttlSeconds * 1000,
    },
  }
  return signJwt({ typ: 'vc+jwt', kid: signer.kid }, payload, signer)
}

function signJwt(header: JsonObject, payload: JsonObject, signer: Signer): Promise<string> {
  return writeJws({ ...header, alg: signer.alg, x5c: [...signer.x5c] }, payload, (data) => signer.sign(data))
}

function timesOf({ issuedAt, expiresAt }: ListContent) {
  const [iat = 0, exp = 0] = [issuedAt, expiresAt].map(epochSeconds)
  return { iat, exp }
}

/** How entries of two bits become entries of one: for each byte of four entries its four bits, and which come first. */
interface Packing {
  readonly nibbles: Uint8Array
  readonly first: 'highest' | 'lowest'
}

function makePacking(first: Packing['first'], isSet: (status: number) => boolean): Packing {
  const positions = first === 'highest' ? [0, 1, 2, 3] : [3, 2, 1, 0]
  const nibbleOf = (byte: number): number =>
    positions.reduce((nibble, at) => (nibble << 1) | Number(isSet((byte >> (2 * at)) & 3)), 0)
  return { nibbles: Uint8Array.from({ length: 256 }, (_, byte) => nibbleOf(byte)), first }
}

/** The bitstring of each purpose. Bitstring Status List, Bitstring Generation Algorithm. */
const BITSTRINGS: Readonly<Record<StatusPurpose, Packing>> = {
  revocation: makePacking('highest', (status) => status === STATUS_VALUES.REVOKED),
  suspension: makePacking('highest', (status) => status === STATUS_VALUES.SUSPENDED),
}
/** The list of mdocs, which has no other status than revoked. ISO/IEC 18013-5 12.3.6. */
const REVOCATIONS = makePacking('lowest', (status) => status !== STATUS_VALUES.VALID)

/** Makes a list of one bit for each entry from one of two bits. The result has `leastBytes` or more. */
function packStatuses(bits: Buffer, { nibbles, first }: Packing, leastBytes = 0): Buffer {
  const packed = Buffer.alloc(Math.max(bits.length / 2, leastBytes))
  for (let at = 0; at < bits.length; at += 2) {
    const [one, other] = [nibbles[bits[at] as number] as number, nibbles[bits[at + 1] as number] as number]
    packed[at / 2] = first === 'highest' ? (one << 4) | other : (other << 4) | one
  }
  return packed
}
