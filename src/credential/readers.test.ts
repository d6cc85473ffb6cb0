/**
 * Tests that a reader takes apart whatever comes in, or says what is malformed; and its evidence can be asked
 * everything.
 */

import { createPublicKey, generateKeyPair, type KeyObject, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { mutateJson, mutateStructured, seededRandom } from '../../test/fuzz/mutate.ts'
import { configurationOf } from '../../test/support/configuration.ts'
import { profiles } from '../../test/support/profiles.ts'
import { seeds, TIMES } from '../../test/support/seeds.ts'
import { bindingTo, dataset } from '../../test/support/wire.ts'
import { toBase64url } from '../codec/base64url.ts'
import { isObject } from '../codec/json.ts'
import { MalformedError } from '../codec/malformed.ts'
import { createSigner } from '../keys/file-signer.ts'
import type { Signer } from '../keys/signer.ts'
import type { CredentialFormat, Evidence } from './format.ts'
import { formatOf } from './formats.ts'

const at = new Date('2026-06-01T12:00:00Z')
const TRANSACTION = toBase64url('{"type":"urn:x","credential_ids":["card"]}')
const binding = { ...bindingTo('n', 'a', at), at }

describe.each(profiles)('a reader of $format', (profile) => {
  const format = formatOf(profile.format) as CredentialFormat
  let signer: Signer
  let key: KeyObject
  let credential: string
  let presentation: string
  beforeAll(async () => {
    const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
    key = createPublicKey(privateKey)
    signer = createSigner(privateKey, [])
    const order = {
      configuration: configurationOf(profile.configuration),
      dataset,
      issuer: 'https://issuer.example',
      holderKey: signer.jwk,
      issuedAt: at,
      expiresAt: new Date('2027-06-01T00:00:00Z'),
    }
    credential = await format.issue(order, signer, randomBytes)
    presentation = await format.present(credential, [[...profile.root]], binding, signer)
  })

  /** Reads a text; the result is undefined when it was malformed. Any other exception is a mistake of ours. */
  const read = (how: 'read' | 'readHeld', text: string): Evidence | undefined => {
    try {
      const evidence = format[how](text)
      askEverything(format, evidence, key, signer)
      return evidence
    } catch (error) {
      if (error instanceof MalformedError) return undefined
      throw error
    }
  }

  it('takes anything', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('~', '.', 'e30', 'eyJ2cCI6e319', 'W10', '{}', 'eyJ2YyI6bnVsbH0', '"__proto__"'),
      fc.base64String(),
    )
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        read('read', pieces.join(''))
        read('readHeld', pieces.join(''))
      }),
      { seed: 20_260_601, numRuns: 250 * TIMES },
    )
  })

  it('takes a presentation or credential of which any part is another one', () => {
    const outcomes = { read: 0, malformed: 0 }
    for (const seed of seeds(300)) {
      const random = seededRandom(seed)
      const presented = seed % 2 === 0
      let text = presented ? presentation : credential
      for (let times = random(3); times >= 0; times--) text = mutateStructured(random, text)
      outcomes[read(presented ? 'read' : 'readHeld', text) ? 'read' : 'malformed'] += 1
    }
    // Neither: nothing would have been tried.
    expect(outcomes.read).toBeGreaterThan(30)
    expect(outcomes.malformed).toBeGreaterThan(30)
  })

  it('takes a query and the meta of a configuration that are anything', () => {
    const { claims, types } = format.readHeld(credential)
    for (const seed of seeds(150)) {
      const random = seededRandom(seed)
      const meta = mutateJson(random, { ...profile.meta })
      for (const sentence of format.findOwnQueryMistakes({ meta }, 'query')) expect(sentence).toMatch(/^query/)
      if (isObject(meta)) format.matchesMeta({ claims, types }, meta)
      const configuration = mutateJson(random, { ...profile.configuration })
      if (isObject(configuration)) format.metaOf(configuration)
    }
  })
})

function askEverything(
  format: CredentialFormat,
  { issuer, holder, boundKey, ...said }: Evidence,
  key: KeyObject,
  { jwk }: Signer,
): void {
  expect(
    [said.formatProblem ?? '', ...said.types, ...issuer.identifiers].filter((text) => typeof text !== 'string'),
  ).toEqual([])
  const instants = [said.validity, holder?.validity].flatMap((each) => [
    ...(each?.notBefore ?? []),
    ...(each?.notAfter ?? []),
  ])
  expect(instants.filter(({ at }) => at !== undefined && Number.isNaN(at.getTime()))).toEqual([])
  issuer.signatureProblem(key)
  holder?.signatureProblem('jwk' in boundKey ? boundKey.jwk : jwk, binding)
  holder?.approvalProblem([TRANSACTION], [TRANSACTION])
  format.matchesMeta(said, { type_values: [['VerifiableCredential']] })
}
