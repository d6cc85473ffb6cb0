/**
 * Distributed key generation without a dealer, as FROST has it: each engine shares a secret of its own among all, the
 * key is their sum, and nobody ever has it. Driven by where the contract is, however often it is looked at: what was
 * sent is not sent again before its time is over, and what was computed is kept, so that an engine that was restarted
 * goes on with the same. RFC 9591 leaves key generation out; the rounds are those of the FROST paper, as @noble/curves
 * implements them.
 */
import type { DKG_Round1, DKG_Round2 } from '@noble/curves/abstract/frost.js'
import { ed25519_FROST as frost, x25519 } from '@noble/curves/ed25519.js'
import { sha256 } from '@noble/hashes/sha2.js'
import type { Context } from 'vouchsafe/component'
import { concat, equal } from '../bytes.ts'
import * as contract from './contract.ts'
import { decrypt, encrypt, type Way } from './encryption.ts'
import { type Round1, readRound1, writeRound1 } from './packages.ts'
import {
  addKeyShare,
  dkgSecret,
  type Generation,
  groupKey,
  type KeyShare,
  loadGeneration,
  loadKeyShares,
  storeGeneration,
} from './stored.ts'

/** A key that the engine works on, and the engine's place among those of the contract. */
export interface Place {
  readonly id: bigint
  readonly key: Pick<contract.Change, 'registration' | 'status' | 'threshold'>
  readonly engines: readonly string[]
  readonly index: number
  readonly context: Context
}

/** Makes the next transaction of this engine for a key that is being made; undefined when others must go on first. */
export function nextStep(place: Place): Uint8Array | undefined {
  const { status } = place.key
  if (status === 'commitments') return commit(place)
  if (status === 'shares') return share(place)
  return status === 'confirmation' ? finish(place) : undefined
}

function commit(place: Place): Uint8Array | undefined {
  const { id, index, context } = place
  const { registration } = place.key
  const stored = loadGeneration(registration, context)
  const published = contract.commitments(id, context)[index]?.length !== 0
  if (published) return stored ? undefined : lost(place)
  const generation = stored ?? begin(place)
  if (!stored) storeGeneration(registration, generation, context)
  return contract.publishCommitments({ id, registration }, generation.published)
}

function begin({ key, engines, index, context }: Place): Generation {
  const rng = rngOf(context)
  const signers = { min: key.threshold, max: engines.length }
  const { public: round1, secret } = frost.DKG.round1(identifierOf(index), signers, undefined, rng)
  const encryptionKey = rng(32)
  return {
    encryptionKey,
    identifier: secret.identifier,
    coefficients: secret.coefficients ?? [],
    commitment: secret.commitment,
    threshold: signers.min,
    engines: signers.max,
    published: writeRound1({ ...round1, encryptionKey: x25519.getPublicKey(encryptionKey) }),
  }
}

function share(place: Place): Uint8Array | undefined {
  const { id, key, engines, index, context } = place
  const generation = loadGeneration(key.registration, context)
  const neighbour = (index + 1) % engines.length
  if (contract.sharesFor(id, neighbour, context)[index]?.length !== 0) return generation ? undefined : lost(place)
  if (!generation) return lost(place)
  const round1 = readAll(place)
  if (!publishedByMe(generation, place))
    return accuse(place, index, 'the contract has other commitments of this engine')
  let shares: Readonly<Record<string, DKG_Round2>>
  try {
    shares = frost.DKG.round2(dkgSecret(generation), others(round1, index))
  } catch {
    return accuse(place, wrongProof(round1, place), 'its commitments or its proof of knowledge do not hold')
  }
  return encryptAll(shares, round1, generation, place)
}

function encryptAll(
  shares: Readonly<Record<string, DKG_Round2>>,
  round1: readonly Round1[],
  generation: Generation,
  place: Place,
): Uint8Array {
  const encrypted: Uint8Array[] = []
  for (const [to, { encryptionKey }] of round1.entries()) {
    const share = shares[identifierOf(to)]?.signingShare
    try {
      const way = wayOf(place, place.index, to)
      encrypted.push(share ? encrypt(share, generation.encryptionKey, encryptionKey, way) : new Uint8Array())
    } catch {
      return accuse(place, to, 'nothing can be encrypted to its key')
    }
  }
  return contract.publishShares(registered(place), encrypted)
}

function finish(place: Place): Uint8Array | undefined {
  const { id, index, context } = place
  const { registration } = place.key
  const digest = sha256(concat(contract.commitments(id, context)))
  const keyShares = loadKeyShares(registration, context).find((one) => equal(one.round1, digest))
  const isConfirmed = contract.confirmations(id, context)[index] === true
  if (keyShares) return isConfirmed ? undefined : contract.confirm({ id, registration }, groupKey(keyShares))
  const generation = loadGeneration(registration, context)
  if (!generation) return lost(place)
  // A share that was confirmed and is lost is made again once the key is active.
  if (isConfirmed && publishedByMe(generation, place)) return undefined
  const round1 = readAll(place)
  if (!publishedByMe(generation, place))
    return accuse(place, index, 'the contract has other commitments of this engine')
  const key = sum(generation, round1, place)
  if (key instanceof Uint8Array) return key
  addKeyShare(registration, { ...key, round1: digest }, context)
  return contract.confirm({ id, registration }, groupKey(key))
}

/**
 * Makes the share of an active key again from what it was made of, if the engine has that and not the share: its
 * storage was put back to what it was before it had confirmed the key. Returns whether there was anything to do.
 */
export function recoverKeyShare(place: Place): boolean {
  const { id, context, key } = place
  const { registration } = key
  const generation = loadGeneration(registration, context)
  if (!generation || !publishedByMe(generation, place)) return false
  const round1 = sha256(concat(contract.commitments(id, context)))
  if (loadKeyShares(registration, context).some((one) => equal(one.round1, round1))) return false
  const share = sum(generation, readAll(place), place)
  if (!(share instanceof Uint8Array)) addKeyShare(registration, { ...share, round1 }, context)
  return true
}

/** Adds up what all engines made for this one to its share of the key; or makes the complaint about one of them. */
function sum(generation: Generation, round1: readonly Round1[], place: Place): Omit<KeyShare, 'round1'> | Uint8Array {
  const { id, index, context } = place
  const round2: DKG_Round2[] = []
  for (const [from, encrypted] of contract.sharesFor(id, index, context).entries()) {
    if (from === index) continue
    const theirs = round1[from]?.encryptionKey ?? new Uint8Array()
    try {
      const signingShare = decrypt(encrypted, generation.encryptionKey, theirs, wayOf(place, from, index))
      round2.push({ identifier: identifierOf(from), signingShare: new Uint8Array(signingShare) })
    } catch {
      return accuse(place, from, 'its share cannot be decrypted')
    }
  }
  const secret = dkgSecret(generation)
  try {
    frost.DKG.round2(secret, others(round1, index))
    return frost.DKG.round3(secret, others(round1, index), round2)
  } catch {
    return accuse(place, wrongShare(round1, round2, place), 'its share does not fit its commitments')
  }
}

/** Finds the engine whose share is not what its commitments say; -1 when there is none. */
function wrongShare(round1: readonly Round1[], round2: readonly DKG_Round2[], { key, engines, index }: Place): number {
  const signers = { min: key.threshold, max: engines.length }
  const wrong = round2.find(({ identifier, signingShare }) => {
    const commitments = others(round1, index).find((one) => one.identifier === identifier)?.commitment ?? []
    try {
      frost.validateSecret(
        { identifier: identifierOf(index), signingShare },
        { signers, commitments, verifyingShares: {} },
      )
      return false
    } catch {
      return true
    }
  })
  return round1.findIndex((_, at) => identifierOf(at) === wrong?.identifier)
}

/**
 * Finds the first engine whose round 1 is wrong; -1 when there is none. The library says that one is, and not which: so
 * rounds are tried of which the first some are theirs and the others were made here, and are right, half as many each
 * time, since a round of many engines takes seconds.
 */
function wrongProof(round1: readonly Round1[], { index, engines, key, context }: Place): number {
  const rng = rngOf(context)
  const signers = { min: key.threshold, max: engines.length }
  const theirs = others(round1, index)
  const ours = theirs.map(({ identifier }) => frost.DKG.round1(identifier, signers, undefined, rng).public)
  const areRight = (count: number): boolean => {
    const { secret } = frost.DKG.round1(identifierOf(index), signers, undefined, rng)
    try {
      frost.DKG.round2(secret, [...theirs.slice(0, count), ...ours.slice(count)])
      return true
    } catch {
      return false
    }
  }
  if (areRight(theirs.length)) return -1
  let [right, wrong] = [0, theirs.length]
  while (wrong - right > 1) {
    const middle = (right + wrong) >> 1
    if (areRight(middle)) right = middle
    else wrong = middle
  }
  return round1.findIndex((_, at) => identifierOf(at) === theirs[right]?.identifier)
}

function others(round1: readonly Round1[], index: number): DKG_Round1[] {
  return round1.flatMap(({ commitment, proofOfKnowledge }, at) =>
    at === index
      ? []
      : {
          identifier: identifierOf(at),
          commitment: commitment.map((point) => new Uint8Array(point)),
          proofOfKnowledge: new Uint8Array(proofOfKnowledge),
        },
  )
}

function readAll({ id, key, context }: Place): readonly Round1[] {
  return contract.commitments(id, context).map((bytes) => readRound1(bytes, key.threshold))
}

/**
 * Tests whether the published package is the one of this generation, since a reorganisation may have brought back
 * another.
 */
function publishedByMe(generation: Generation, { id, index, context }: Place): boolean {
  return equal(contract.commitments(id, context)[index] ?? new Uint8Array(), generation.published)
}

function lost(place: Place): Uint8Array {
  return accuse(place, place.index, 'this engine has lost what it had begun')
}

function accuse(place: Place, index: number, reason: string): Uint8Array {
  return contract.complain(registered(place), place.engines[index] ?? '00'.repeat(21), reason)
}

function registered({ id, key: { registration } }: Place): contract.Registered {
  return { id, registration }
}

function wayOf({ id, key, context }: Place, from: number, to: number): Way {
  const { chainId, contract: address } = context
  return { chainId, contract: address, key: id, registration: key.registration, from, to }
}

function rngOf(context: Context): (length?: number) => Uint8Array<ArrayBuffer> {
  return (length = 32) => new Uint8Array(context.random(length))
}

/** Returns the identifier of FROST: the place in the contract's list, counted from 1. */
function identifierOf(index: number): string {
  return frost.Identifier.fromNumber(index + 1)
}
