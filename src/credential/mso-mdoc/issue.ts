/**
 * Issues an mdoc: makes the elements, the MSO with their digests, and the issuer's signature. ISO/IEC 18013-5 section
 * 9.1.2.
 */
import { toBase64url } from '../../codec/base64url.ts'
import {
  CBOR_TAG,
  type Cbor,
  type CborKey,
  embedCbor,
  encodeCbor,
  encodeInOrder,
  makeTagged,
} from '../../codec/cbor.ts'
import { writeCoseKey, writeSign1 } from '../../codec/cose.ts'
import type { JsonObject } from '../../codec/json.ts'
import { algorithms } from '../../keys/signature.ts'
import type { Signer } from '../../keys/signer.ts'
import type { Order } from '../format.ts'
import { digestItem } from './elements.ts'
import type { MdocMembers } from './validation.ts'
import { cborDateTime, toCbor } from './values.ts'

type Random = (bytes: number) => Uint8Array

interface SignedNameSpace {
  readonly nameSpace: string
  readonly items: readonly Uint8Array[]
  readonly digests: ReadonlyMap<number, Uint8Array>
}

/** The length of the random value of an element; at least 16 bytes are required. ISO/IEC 18013-5 section 9.1.2.5. */
const RANDOM_BYTES = 16
const ORDER_BYTES = 4

/** Issues an mdoc, as a base64url-encoded IssuerSigned. */
export async function issue(order: Order<MdocMembers>, signer: Signer, random: Random): Promise<string> {
  const nameSpaces = Object.entries(order.dataset).map(([nameSpace, elements]) =>
    makeNameSpace(nameSpace, elements as JsonObject, random),
  )
  const issuerAuth = await writeSign1(
    {
      alg: algorithms[signer.alg].cose[0],
      x5chain: signer.x5c.map((text) => Buffer.from(text, 'base64')),
      payload: encodeCbor(embedCbor(makeSecurityObject(order, nameSpaces))),
      detached: false,
    },
    (data) => signer.sign(data),
  )
  const items = nameSpaces.map(
    (each) => [each.nameSpace, each.items.map((item) => makeTagged(CBOR_TAG.encoded, item))] as const,
  )
  return toBase64url(
    encodeCbor(
      new Map<CborKey, Cbor>([
        ['nameSpaces', new Map(items)],
        ['issuerAuth', issuerAuth],
      ]),
    ),
  )
}

function makeNameSpace(nameSpace: string, elements: JsonObject, random: Random): SignedNameSpace {
  const entries = Object.entries(elements)
  const bytes = Buffer.from(random(entries.length * (RANDOM_BYTES + ORDER_BYTES)))
  const ids = shuffle(entries.length, bytes.subarray(entries.length * RANDOM_BYTES))
  // Some wallets write an element again before they present it, in this order, that of its definition in the standard.
  const items = entries.map(([name, value], index) =>
    encodeInOrder(
      new Map<CborKey, Cbor>([
        ['digestID', ids[index] ?? index],
        ['random', bytes.subarray(index * RANDOM_BYTES, (index + 1) * RANDOM_BYTES)],
        ['elementIdentifier', name],
        ['elementValue', toCbor(value, nameSpace, name)],
      ]),
    ),
  )
  return { nameSpace, items, digests: new Map(items.map((item, index) => [ids[index] ?? index, digestItem(item)])) }
}

/**
 * Returns a random permutation of the numbers below `count`, so that digestIDs do not reveal the undisclosed elements.
 */
function shuffle(count: number, bytes: Buffer): readonly number[] {
  const keys = Array.from({ length: count }, (_, index) => bytes.readUInt32BE(index * ORDER_BYTES))
  return [...keys.keys()].sort((a, b) => (keys[a] ?? 0) - (keys[b] ?? 0))
}

/** Makes the MSO members for the status. Token Status List, Referenced Token in COSE. */
function statusMembers({ status }: Order): readonly (readonly [CborKey, Cbor])[] {
  if (status === undefined) return []
  const entry = new Map<CborKey, Cbor>([
    ['idx', status.index],
    ['uri', status.uri],
  ])
  return [['status', new Map([['status_list', entry]])]]
}

/** Makes the MobileSecurityObject. ISO/IEC 18013-5 section 9.1.2.4. */
function makeSecurityObject(order: Order<MdocMembers>, nameSpaces: readonly SignedNameSpace[]): Cbor {
  const [issuedAt, expiresAt] = [cborDateTime(order.issuedAt), cborDateTime(order.expiresAt)]
  return new Map<CborKey, Cbor>([
    ['version', '1.0'],
    ['digestAlgorithm', 'SHA-256'],
    ['valueDigests', new Map(nameSpaces.map(({ nameSpace, digests }) => [nameSpace, digests]))],
    ['deviceKeyInfo', new Map([['deviceKey', writeCoseKey(order.holderKey)]])],
    ['docType', order.configuration.doctype],
    [
      'validityInfo',
      new Map([
        ['signed', issuedAt],
        ['validFrom', issuedAt],
        ['validUntil', expiresAt],
      ]),
    ],
    ...statusMembers(order),
  ])
}
