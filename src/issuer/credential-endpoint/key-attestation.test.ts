/**
 * Tests that whatever stands where a key proof or a key attestation should is taken or refused with `invalid_proof`.
 */
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { mutateJson, mutateStructured, type Random, seededRandom } from '../../../test/fuzz/mutate.ts'
import { attestationOf, makeAttester } from '../../../test/support/attestation.ts'
import { seeds, TIMES } from '../../../test/support/seeds.ts'
import { holderSigner, keyProof } from '../../../test/support/wire.ts'
import { isObject, type JsonObject } from '../../codec/json.ts'
import { readJws, writeJws } from '../../codec/jws.ts'
import { type Certificate, parseCertificate } from '../../keys/certificate.ts'
import type { Signer } from '../../keys/signer.ts'
import { ProtocolError } from '../../protocol/error.ts'
import { verifyAttestationOfProof, verifyKeyAttestation } from './key-attestation.ts'
import { readKeyProof, refuseUnlessSigned } from './proofs.ts'

const now = new Date()
const clock = { now, clockSkewSeconds: 60, algorithms: ['ES256'] }
const AUDIENCE = 'https://a.example'

let holder: Signer
let signer: Signer
let attestation: string
let proof: string
let anchors: readonly Certificate[]
beforeAll(async () => {
  const attester = await makeAttester()
  holder = await holderSigner()
  signer = attester.signer
  anchors = [parseCertificate(attester.authority.der)]
  attestation = await attestationOf(attester, [holder.jwk], now)
  proof = await keyProof({ holder, nonce: 'n', audience: AUDIENCE, header: { key_attestation: attestation } }, now)
})

const policy = () => ({
  ...clock,
  anchors,
  requirement: { key_storage: ['iso_18045_high'] },
})
const readers = {
  'a key attestation': (text: string) => verifyKeyAttestation(text, 'attestation', policy()),
  'the key attestation of a key proof': (text: string) => verifyKeyAttestation(text, 'jwt', policy()),
  'a key proof': (text: string) => {
    const keyProof = readKeyProof(text, { ...clock, audiences: [AUDIENCE] })
    const attestedProof = verifyAttestationOfProof(keyProof, policy(), new Map())
    refuseUnlessSigned(keyProof, attestedProof.holderKey)
    return attestedProof
  },
}

describe.each(Object.entries(readers))('%s', (name, read) => {
  const right = () => (name === 'a key proof' ? proof : attestation)
  const by = () => (name === 'a key proof' ? holder : signer)

  const taken = (text: string): boolean => {
    try {
      read(text)
      return true
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      expect([error.code, error.message]).toEqual(['invalid_proof', expect.stringMatching(/^[ !#-[\]-~]+$/)])
      return false
    }
  }

  it('can be anything', () => {
    expect(taken(right())).toBe(true)
    const piece = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('.', 'e30', 'eyJ0eXAiOiJrZXktYXR0ZXN0YXRpb24rand0IiwiYWxnIjoiRVMyNTYifQ', 'W10', 'bnVsbA'),
      fc.base64String(),
    )
    const property = fc.property(fc.array(piece), (pieces) => !taken(pieces.join('')))
    fc.assert(property, { seed: 20_260_601, numRuns: 250 * TIMES })
  })

  it('can have any part that is another one', () => {
    for (const seed of seeds(200)) taken(mutateStructured(seededRandom(seed), right()))
  })

  it('can say anything under a signature that is right', async () => {
    const outcomes = { taken: 0, refused: 0 }
    const { header, payload } = readJws(right())
    for (const seed of seeds(200)) {
      const random = seededRandom(seed)
      const [head, body] = random(2) === 0 ? [changed(random, header), payload] : [header, changed(random, payload)]
      const text = await writeJws(head, body, (data) => by().sign(data))
      outcomes[taken(text) ? 'taken' : 'refused'] += 1
    }
    // Neither: nothing would have been tried.
    expect(outcomes.taken).toBeGreaterThan(5)
    expect(outcomes.refused).toBeGreaterThan(60)
  })
})

describe('the key attestations of a request', () => {
  it('have 100 keys together at most', () => {
    const keyProof = readKeyProof(proof, { ...clock, audiences: [AUDIENCE] })
    const verifyBeside = (count: number) => {
      const attestedKeys = [holder.jwk, ...Array<typeof holder.jwk>(count - 1).fill(holder.jwk)] as const
      return verifyAttestationOfProof(
        keyProof,
        policy(),
        new Map([['another', { attestedKeys, keyIds: [], nonce: undefined }]]),
      )
    }
    expect(verifyBeside(99).attestedKeys).toHaveLength(1)
    expect(() => verifyBeside(100)).toThrow(
      'attested_keys has too many keys: a request may have 100, in all attestations together',
    )
  })
})

function changed(random: Random, members: JsonObject): JsonObject {
  const other = mutateJson(random, members)
  return isObject(other) ? other : { other }
}
