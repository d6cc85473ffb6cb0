/**
 * Verifies each disclosed element of a presentation against its digest in the MSO, over the received bytes. ISO/IEC
 * 18013-5 sections 9.1.2.4, 9.1.2.5 and 9.3.1.
 */
import { hash } from 'node:crypto'
import {
  asMap,
  asText,
  type Budget,
  type Cbor,
  type CborMap,
  createBudget,
  decodeCbor,
  encodeEmbedded,
  isBytes,
  isMap,
} from '../../codec/cbor.ts'
import type { Json, JsonObject } from '../../codec/json.ts'
import { malformed, readOrProblem } from '../../codec/malformed.ts'
import type { IssuerSigned } from './issuer-signed.ts'
import { toJson } from './values.ts'

/** The digest algorithms, with their names in `node:crypto`. ISO/IEC 18013-5 table 21. */
const DIGESTS: ReadonlyMap<Cbor | undefined, string> = new Map([
  ['SHA-256', 'sha256'],
  ['SHA-384', 'sha384'],
  ['SHA-512', 'sha512'],
])

export interface Elements {
  /** The claims by namespace and element identifier; empty if there is a problem. */
  readonly claims: JsonObject
  readonly problem: string | undefined
}

/** An IssuerSignedItem. ISO/IEC 18013-5 section 8.3.2.1.2.2. */
interface Item {
  readonly digestID: number
  readonly elementIdentifier: string
  readonly elementValue: Cbor
}

/** Verifies the digests of the elements against those in the MSO, and returns the claims of the elements. */
export function verifyElements({ nameSpaces, mso }: IssuerSigned): Elements {
  const elements = readOrProblem(() => {
    const algorithm = DIGESTS.get(mso.digestAlgorithm) ?? malformed('the digest algorithm of the credential is unknown')
    // All elements share one budget, which limits the number of CBOR values.
    const budget = createBudget()
    const claims = [...nameSpaces].map(([nameSpace, items]) => {
      const digests = mso.valueDigests.get(nameSpace)
      if (!isMap(digests)) malformed('the issuer signed no digests for a namespace that is shown')
      return [nameSpace, readItems(items, { digests, algorithm, budget })] as const
    })
    return { claims: Object.fromEntries(claims) }
  })
  return 'problem' in elements ? { claims: {}, problem: elements.problem } : { ...elements, problem: undefined }
}

/** Returns the element identifier of an IssuerSignedItem. Throws a MalformedError if the bytes are not one. */
export function readIdentifier(item: Uint8Array): string {
  return readItem(item).elementIdentifier
}

/** Returns the digest of an item, including its tag: `24(<<item>>)`. */
export function digestItem(item: Uint8Array, algorithm = 'sha256'): Buffer {
  return hash(algorithm, encodeEmbedded(item), 'buffer')
}

function readItems(
  items: readonly Uint8Array[],
  { digests, algorithm, budget }: { readonly digests: CborMap; readonly algorithm: string; readonly budget: Budget },
): JsonObject {
  const elements = new Map<string, Json>()
  for (const bytes of items) {
    const { digestID, elementIdentifier, elementValue } = readItem(bytes, budget)
    // This also excludes repeated digestIDs, since each digest matches only one element.
    if (elements.has(elementIdentifier)) malformed('an element occurs twice')
    const digest = digests.get(digestID)
    if (!isBytes(digest)) malformed('an element has a digestID for which the issuer signed no digest')
    if (!digestItem(bytes, algorithm).equals(digest))
      malformed('an element is not the one whose digest the issuer signed')
    elements.set(elementIdentifier, toJson(elementValue))
  }
  return Object.fromEntries(elements)
}

function readItem(bytes: Uint8Array, budget = createBudget()): Item {
  const item = asMap(decodeCbor(bytes, { budget }), 'an element')
  const [digestID, elementValue] = [item.get('digestID'), item.get('elementValue')]
  if (typeof digestID !== 'number' || digestID < 0) malformed('the digestID of an element is not a number')
  if (!isBytes(item.get('random'))) malformed('an element has no random')
  if (elementValue === undefined) return malformed('an element has no value')
  return { digestID, elementIdentifier: asText(item.get('elementIdentifier'), 'the name of an element'), elementValue }
}
