/**
 * Secrets and their shares, in the format of existing clients of off-chain components: 32 random bytes before the
 * secret, so that nobody can try secrets against a commitment; then Shamir over GF(2^8) byte by byte, the share of the
 * engine at place i being the value at x = i + 1, without x; or, where all shares are needed, as many random shares
 * and what XOR makes of them and the secret.
 *
 * Every value of a polynomial here, at 0 or elsewhere, is interpolated by shamir-secret-sharing: f(x) at x = k is g(0)
 * of g(x) = f(x + k), and in GF(2^8) x + k is x XOR k.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes } from '@noble/hashes/utils.js'
import { combine } from 'shamir-secret-sharing'
import { ClientError, refuseBadRequest } from './errors.ts'

export type Scheme = 'shamir' | 'xor'

export interface Split {
  readonly scheme: Scheme
  /** How many shares there are. */
  readonly shares: number
  /** The number of shares that give the secret back; all of them with XOR. */
  readonly threshold: number
  readonly random: (bytes: number) => Uint8Array
}

/** The share of one engine: `index` is the engine's place in the contract's list, from 0. */
export interface Share {
  readonly index: number
  readonly bytes: Uint8Array
}

const PREFIX_BYTES = 32
const MAX_SHARES = 255
/** The most bytes that WebCrypto draws at once. */
const DRAWN_AT_ONCE = 65_536
/** The bytes that engines store with a share (components/secret-sharing/stored.ts). */
const BYTES_WITH_A_SHARE = 117
/** The largest secret whose shares engines store by default. */
export const MAX_SECRET_BYTES = 1_048_576 - BYTES_WITH_A_SHARE - PREFIX_BYTES

/**
 * Splits a secret into shares, in the order of the engines. Rejects with a {@link ClientError} `bad-request` for a
 * threshold or a size that cannot be.
 */
export async function splitSecret(secret: Uint8Array, split: Split): Promise<Uint8Array[]> {
  const { shares, scheme, random } = split
  if (secret.length > MAX_SECRET_BYTES) refuseBadRequest(`a secret has ${MAX_SECRET_BYTES} bytes at most`)
  if (!Number.isInteger(shares) || shares < 2 || shares > MAX_SHARES)
    refuseBadRequest(`a secret is shared among 2 to ${MAX_SHARES} engines, and the contract lists ${shares}`)
  checkThreshold(split)
  const paddedSecret = concatBytes(random(PREFIX_BYTES), secret)
  return scheme === 'xor' ? splitXor(paddedSecret, split) : splitShamir(paddedSecret, split)
}

/** Throws a {@link ClientError} `bad-request` for a threshold that no sharing of the scheme has. */
export function checkThreshold({ scheme, shares, threshold }: Omit<Split, 'random'>): void {
  if (!Number.isInteger(threshold) || threshold < 2 || threshold > shares) {
    refuseBadRequest(
      `the threshold is a number from 2 to that of the engines, which is ${shares}, and not ${threshold}`,
    )
  }
  if (scheme === 'xor' && threshold !== shares) {
    refuseBadRequest(
      `with XOR every share is needed: the threshold is the number of engines, ${shares}, not ${threshold}`,
    )
  }
}

/**
 * Returns the secret of these shares. Rejects with a {@link ClientError} for too few shares, two of one engine, or
 * such as do not belong together.
 */
export async function combineShares(shares: readonly Share[], threshold: number, scheme: Scheme): Promise<Uint8Array> {
  if (new Set(shares.map(({ index }) => index)).size !== shares.length) refuseMixed('two shares are of one engine')
  if (shares.length < threshold || threshold < 2) {
    throw new ClientError('too-few-shares', `${threshold} shares are needed, and there are ${shares.length}`)
  }
  const usedShares = shares.slice(0, threshold)
  const length = usedShares[0]?.bytes.length ?? 0
  if (usedShares.some(({ bytes }) => bytes.length !== length)) refuseMixed('the shares are of different lengths')
  if (length < PREFIX_BYTES) refuseMixed('the shares are shorter than those of any secret')
  const paddedSecret =
    scheme === 'xor' ? xor(usedShares.map(({ bytes }) => bytes)) : await valueAt(0, usedShares.map(pointOf))
  return paddedSecret.slice(PREFIX_BYTES)
}

/** Returns the commitment that the contract keeps of a share. */
export function commitmentOf(share: Uint8Array): Uint8Array {
  return sha256(share)
}

function randomBytes(length: number, random: Split['random']): Uint8Array {
  const count = Math.ceil(length / DRAWN_AT_ONCE)
  const lengths = Array.from({ length: count }, (_, at) => Math.min(DRAWN_AT_ONCE, length - at * DRAWN_AT_ONCE))
  return concatBytes(...lengths.map((bytes) => random(bytes)))
}

interface Point {
  readonly x: number
  readonly y: Uint8Array
}

function pointOf({ index, bytes }: Share): Point {
  return { x: index + 1, y: bytes }
}

/**
 * Splits a secret by Shamir's scheme: `threshold - 1` shares are random, and they and the secret determine the others.
 */
async function splitShamir(paddedSecret: Uint8Array, { shares, threshold, random }: Split): Promise<Uint8Array[]> {
  const randomShares = Array.from({ length: threshold - 1 }, () => randomBytes(paddedSecret.length, random))
  const points = [{ x: 0, y: paddedSecret }, ...randomShares.map((bytes, index) => pointOf({ index, bytes }))]
  const rest: Uint8Array[] = []
  for (let x = threshold; x <= shares; x++) rest.push(await valueAt(x, points))
  return [...randomShares, ...rest]
}

function valueAt(x: number, points: readonly Point[]): Promise<Uint8Array> {
  return combine(points.map((point) => concatBytes(point.y, Uint8Array.of(point.x ^ x))))
}

function splitXor(paddedSecret: Uint8Array, { shares, random }: Split): Uint8Array[] {
  const randomShares = Array.from({ length: shares - 1 }, () => randomBytes(paddedSecret.length, random))
  return [...randomShares, xor([paddedSecret, ...randomShares])]
}

function xor(all: readonly Uint8Array[]): Uint8Array {
  const [first = new Uint8Array(), ...others] = all
  return first.map((byte, at) => others.reduce((sum, other) => sum ^ (other[at] ?? 0), byte))
}

function refuseMixed(message: string): never {
  throw new ClientError('mixed-shares', message)
}
