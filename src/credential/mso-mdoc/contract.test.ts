import { type KeyObject, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../../../test/fuzz/mutate.ts'
import { newBareSigner, orderBinding, orderFor } from '../../../test/support/order.ts'
import { seeds, TIMES } from '../../../test/support/seeds.ts'
import { fromBase64url, toBase64url } from '../../codec/base64url.ts'
import {
  CBOR_TAG,
  type Cbor,
  type CborKey,
  decodeCbor,
  encodeCbor,
  isArray,
  isBytes,
  isMap,
  isTagged,
  makeTagged,
} from '../../codec/cbor.ts'
import type { JsonObject } from '../../codec/json.ts'
import { MalformedError } from '../../codec/malformed.ts'
import { importPublicKey } from '../../keys/jwk.ts'
import type { Signer } from '../../keys/signer.ts'
import { formatContract } from '../format.contract.ts'
import type { Evidence } from '../format.ts'
import { msoMdoc } from './index.ts'
import { readIssuerSigned } from './issuer-signed.ts'

const NAMESPACE = 'org.iso.18013.5.1'
const configuration = { format: 'mso_mdoc', doctype: 'org.iso.18013.5.1.mDL' }
const elements: JsonObject = {
  family_name: 'Lovelace',
  birth_date: '1815-12-10',
  portrait: '_9j_4A',
  driving_privileges: [{ vehicle_category_code: 'B', expiry_date: '2036-01-31' }],
  age_over_18: true,
}

/** Returns what an issuer signs of each element, and the element behind it. */
function concealedParts(credential: string): readonly string[] {
  const { nameSpaces } = readIssuerSigned(decodeCbor(fromBase64url(credential)))
  return [...nameSpaces.values()].flat().map((item) => Buffer.from(item).toString('hex'))
}

describe('mobile documents', () => {
  formatContract({
    format: msoMdoc,
    configuration,
    dataset: (claims: JsonObject) => ({ [NAMESPACE]: claims }),
    hides: true,
    root: [NAMESPACE],
    reserved: ['__proto__', '_sd', '_sd_alg', '...'],
    concealed: concealedParts,
    flat: true,
  })

  let signer: Signer
  let key: KeyObject
  beforeAll(async () => {
    signer = await newBareSigner()
    key = importPublicKey(signer.jwk)
  })

  const issue = () => msoMdoc.issue(orderFor(configuration, { [NAMESPACE]: elements }, signer), signer, randomBytes)

  it('takes a presentation or credential of which any part is another one', async () => {
    const credential = await issue()
    const presentation = await msoMdoc.present(credential, [[]], orderBinding, signer)
    const outcomes = { read: 0, malformed: 0, held: 0 }
    for (const seed of seeds(300)) {
      const [how, text] = seed % 2 === 0 ? (['read', presentation] as const) : (['readHeld', credential] as const)
      const changed = toBase64url(encodeCbor(mutated(decodeCbor(fromBase64url(text)), fractions(seed))))
      try {
        const evidence = msoMdoc[how](changed)
        outcomes.read += 1
        if (askEverything(evidence) && changed !== text) outcomes.held += 1
      } catch (error) {
        if (!(error instanceof MalformedError)) throw error
        outcomes.malformed += 1
      }
    }
    expect(outcomes.read).toBeGreaterThan(20)
    expect(outcomes.malformed).toBeGreaterThan(20)
    // Members that nobody signs and nobody looks at: certificates, unprotected headers.
    expect(outcomes.held).toBeLessThan(outcomes.read / 2)
  })

  it('takes anything', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        for (const how of ['read', 'readHeld'] as const) {
          expect(() => msoMdoc[how](toBase64url(bytes))).toThrow(MalformedError)
        }
      }),
      { numRuns: 250 * TIMES },
    )
  })

  function askEverything(evidence: Evidence): boolean {
    const { holder, boundKey, issuer } = evidence
    JSON.stringify([evidence.claims, evidence.validity, evidence.status, evidence.types])
    const bound = 'problem' in boundKey ? signer.jwk : boundKey.jwk
    let agreed = true
    try {
      agreed = holder?.signatureProblem(bound, orderBinding) === undefined
    } catch (error) {
      // A key that is not a point: the check says so.
      if (!(error instanceof MalformedError)) throw error
      agreed = false
    }
    return (
      issuer.signatureProblem(key) === undefined &&
      evidence.disclosuresProblem === undefined &&
      agreed &&
      holder?.problem === undefined
    )
  }
})

const ODD: readonly Cbor[] = [
  null,
  0,
  -1,
  2n ** 64n - 1n,
  1.5,
  true,
  '',
  'SHA-256',
  '__proto__',
  [],
  [[]],
  new Map(),
  new Map<CborKey, Cbor>([[-70_000, null]]),
  new Uint8Array(0),
  Buffer.from('a0', 'hex'),
  Buffer.from('ff', 'hex'),
  makeTagged(24, Buffer.from('a0', 'hex')),
  makeTagged(24, 7),
  makeTagged(0, 'now'),
  makeTagged(2 ** 40, [1]),
]

/** Numbers from 0 to 1, the same for the same seed. */
function fractions(seed: number): () => number {
  const random = seededRandom(seed)
  return () => random(1_000_000) / 1_000_000
}

/** Replaces one value in the value, at any depth and inside embedded CBOR as well, by an odd one. */
function mutated(value: Cbor, random: () => number): Cbor {
  const below = random() > 0.04
  const pick = (count: number) => Math.floor(random() * count)
  if (below && isTagged(value)) {
    const inner = value.value as Cbor
    const embedded = isBytes(inner) && value.tag === CBOR_TAG.encoded && random() > 0.1
    return makeTagged(value.tag, embedded ? encodeCbor(mutated(decodeCbor(inner), random)) : mutated(inner, random))
  }
  if (below && isArray(value) && value.length > 0) {
    const at = pick(value.length)
    return value.map((element, index) => (index === at ? mutated(element, random) : element))
  }
  if (below && isMap(value) && value.size > 0) {
    const at = pick(value.size)
    return new Map([...value].map(([name, member], index) => [name, index === at ? mutated(member, random) : member]))
  }
  // The payload of the signature is embedded CBOR without a tag.
  if (isBytes(value) && value.length > 80 && random() > 0.2) {
    try {
      return encodeCbor(mutated(decodeCbor(value), random))
    } catch {
      return value.map((byte, index) => (index === 7 ? byte ^ 1 : byte))
    }
  }
  return ODD[pick(ODD.length)] ?? null
}
