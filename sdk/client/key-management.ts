/**
 * Threshold signatures by the engines of a key management contract, with the client as the coordinator (RFC 9591): it
 * asks enough engines for commitments, then for shares, looks at each share, and puts them together. It learns no
 * secret, and needs to be trusted with nothing but what it asks to sign.
 */
import type { NonceCommitments } from '@noble/curves/abstract/frost.js'
import { ed25519, ed25519_FROST as frost } from '@noble/curves/ed25519.js'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { readRound1 } from '../../components/key-management/packages.ts'
import { memberOf, parseJson } from '../../src/codec/json.ts'
import { readOrUndefined } from '../../src/codec/malformed.ts'
import { printable } from './errors.ts'

/** The most characters of what a component says of a refusal. */
const MAX_SAID = 200

/** An engine: its place in the contract's list, and how to send a request that its component takes for the caller's. */
export interface SigningEngine {
  readonly index: number
  /** The name of the engine for people. */
  readonly name: string
  /**
   * Posts `body`, which is JSON. Rejects when the engine cannot be reached. A request for a share is sent once: its
   * answer cannot be had again.
   */
  readonly post: (path: string, body: string) => Promise<{ readonly status: number; readonly body: string }>
}

export interface Fault {
  readonly engine: string
  readonly why: string
}

/**
 * The public package of a key (RFC 9591), as the library of FROST takes it. The type is spelled out, since an
 * application has no types of that library.
 */
export interface KeyPackage {
  readonly signers: { readonly min: number; readonly max: number }
  /** The commitment of all engines to their shares, the public key first. */
  readonly commitments: Uint8Array<ArrayBuffer>[]
  /** The points that the shares of engines are checked against, by the identifiers of the engines. */
  readonly verifyingShares: Record<string, Uint8Array<ArrayBuffer>>
}

/** The error when too few engines gave a share: `faults` says what was wrong with each of the others. */
export class SigningError extends Error {
  override readonly name = 'SigningError'
  readonly faults: readonly Fault[]
  constructor(faults: readonly Fault[], needed: number) {
    super(`fewer than ${needed} engines signed: ${faults.map(({ engine, why }) => `${engine}: ${why}`).join('; ')}`)
    this.faults = faults
  }
}

/**
 * Returns the public package that signatures and shares are checked against, computed from what the engines published
 * in round 1: `commitments(id)` of the contract. Throws when that does not give the public key that the contract says
 * all engines confirmed.
 */
export function keyPackage(round1: readonly Uint8Array[], threshold: number, publicKey: Uint8Array): KeyPackage {
  const { Point } = ed25519
  const all = round1.map((bytes) => readRound1(bytes, threshold).commitment.map((point) => Point.fromBytes(point)))
  const sums = Array.from({ length: threshold }, (_, degree) =>
    all.reduce((sum, points) => sum.add(points[degree] ?? Point.ZERO), Point.ZERO),
  )
  const shareAt = (at: bigint): Uint8Array<ArrayBuffer> =>
    new Uint8Array(sums.reduceRight((sum, point) => sum.multiplyUnsafe(at).add(point), Point.ZERO).toBytes())
  const commitments = sums.map((point) => new Uint8Array(point.toBytes()))
  if (bytesToHex(commitments[0] ?? new Uint8Array()) !== bytesToHex(publicKey)) {
    throw new Error('what the engines published does not give the public key of the contract')
  }
  const verifyingShares = Object.fromEntries(
    round1.map((_, index) => [identifierOf(index), shareAt(BigInt(index + 1))]),
  )
  return { signers: { min: threshold, max: round1.length }, commitments, verifyingShares }
}

/**
 * Returns a plain Ed25519 signature, and whom it could be had without. Engines that do not answer, refuse, or give a
 * wrong share are left out in a next try. An engine whose share may have been lost on its way commits anew, once, where
 * the others are too few. Rejects with a SigningError when too few are left.
 */
export async function signTogether(
  id: bigint,
  message: Uint8Array,
  key: KeyPackage,
  engines: readonly SigningEngine[],
): Promise<{ readonly signature: Uint8Array; readonly faults: readonly Fault[] }> {
  const failures: Failures = { faults: new Map(), lost: new Map() }
  const { faults, lost } = failures
  for (;;) {
    const remainingEngines = engines.filter((engine) => !faults.has(engine))
    const othersFirst = remainingEngines.toSorted((one, other) => Number(lost.has(one)) - Number(lost.has(other)))
    const signers = await collectCommitments(id, othersFirst, key.signers.min, faults)
    if (signers.length < key.signers.min) throw new SigningError(listOf(faults), key.signers.min)
    const signature = await attemptSignature({ id, message, key }, signers, failures)
    if (signature) {
      for (const { engine } of signers) lost.delete(engine)
      return { signature, faults: listOf(new Map([...lost, ...faults])) }
    }
  }
}

/** The engines that gave no share, with the reason of each. */
interface Failures {
  /** The engines that are left out. */
  readonly faults: Map<SigningEngine, string>
  /** The engines whose share was lost once. */
  readonly lost: Map<SigningEngine, string>
}

interface SigningTask {
  readonly id: bigint
  readonly message: Uint8Array
  readonly key: KeyPackage
}

interface CommittedSigner {
  readonly engine: SigningEngine
  readonly commitments: NonceCommitments
}

/** Collects the commitments of enough engines; asks others when an engine gives none. */
async function collectCommitments(
  id: bigint,
  engines: readonly SigningEngine[],
  needed: number,
  faults: Map<SigningEngine, string>,
): Promise<CommittedSigner[]> {
  const committedSigners: CommittedSigner[] = []
  let next = 0
  while (committedSigners.length < needed && next < engines.length) {
    const group = engines.slice(next, next + needed - committedSigners.length)
    next += group.length
    const answers = await Promise.all(group.map((engine) => commitmentsOf(id, engine, faults)))
    committedSigners.push(...answers.filter((one) => one !== undefined))
  }
  return committedSigners
}

async function commitmentsOf(
  id: bigint,
  engine: SigningEngine,
  faults: Map<SigningEngine, string>,
): Promise<CommittedSigner | undefined> {
  const { answer, why } = await ask(engine, `/keys/${id}/commitments`, '{}')
  if (answer === undefined) {
    faults.set(engine, why)
    return undefined
  }
  try {
    const identifier = identifierOf(engine.index)
    if (answer.identifier !== identifier) throw new Error('it answered as another engine')
    const [hiding, binding] = [pointOf(answer.hiding), pointOf(answer.binding)]
    return { engine, commitments: { identifier, hiding, binding } }
  } catch (error) {
    faults.set(engine, `its commitments are wrong: ${String(error)}`)
    return undefined
  }
}

/**
 * Asks the signers for their shares, and combines these to a signature; undefined when a share was missing or wrong,
 * whose engine is then among the failures.
 */
async function attemptSignature(
  { id, message, key }: SigningTask,
  signers: readonly CommittedSigner[],
  { faults, lost }: Failures,
): Promise<Uint8Array | undefined> {
  const list = signers.map(({ commitments }) => commitments)
  const text = list.map(({ identifier, hiding, binding }) => ({
    identifier,
    hiding: bytesToHex(hiding),
    binding: bytesToHex(binding),
  }))
  const body = JSON.stringify({ message: bytesToHex(message), commitments: text })
  const signed = new Uint8Array(message)
  const shares: Record<string, Uint8Array<ArrayBuffer>> = {}
  await Promise.all(
    signers.map(async ({ engine, commitments: { identifier } }) => {
      const { answer, why, isLost } = await ask(engine, `/keys/${id}/signature-shares`, body)
      if (answer === undefined) {
        const failed = isLost && !lost.has(engine) ? lost : faults
        failed.set(engine, why)
        return
      }
      const share = readShare(answer.share, (bytes) => frost.verifyShare(key, list, signed, identifier, bytes))
      if (share) shares[identifier] = share
      else faults.set(engine, 'its signature share is wrong')
    }),
  )
  if (Object.keys(shares).length < signers.length) return undefined
  return frost.aggregate(key, list, signed, shares)
}

/** Reads a share; undefined when the answer is none, or a wrong one. */
function readShare(
  answered: unknown,
  isRight: (share: Uint8Array<ArrayBuffer>) => boolean,
): Uint8Array<ArrayBuffer> | undefined {
  try {
    const share = bytesOf(answered)
    return isRight(share) ? share : undefined
  } catch {
    return undefined
  }
}

type Reply =
  | { readonly answer: Record<string, unknown>; readonly why?: never; readonly isLost?: never }
  /** `isLost`: the engine may have answered this request before, or its answer did not arrive. */
  | { readonly answer?: never; readonly why: string; readonly isLost: boolean }

/** Returns the engine's answer with 200 as an object; for another answer, why there is none. */
async function ask(engine: SigningEngine, path: string, body: string): Promise<Reply> {
  let posted: Awaited<ReturnType<SigningEngine['post']>>
  try {
    posted = await engine.post(path, body)
  } catch (error) {
    return { why: `it could not be asked: ${error instanceof Error ? error.message : 'no answer'}`, isLost: true }
  }
  if (posted.status !== 200) {
    const sentence = refusalOf(posted.body).slice(0, MAX_SAID)
    const why = `its component refused (${posted.status})${sentence === '' ? '' : `: ${sentence}`}`
    return { why, isLost: posted.status === 409 }
  }
  const answer = readOrUndefined(() => parseJson(posted.body))
  if (typeof answer !== 'object' || answer === null) return { why: 'its answer is not an object', isLost: false }
  return { answer: answer as Record<string, unknown> }
}

/**
 * Returns the reason of a component's refusal: in `error`, in the `detail` of a problem document, or without either.
 */
function refusalOf(body: string): string {
  const answer = readOrUndefined(() => parseJson(body))
  const reason = [memberOf(answer, 'error'), memberOf(answer, 'detail')].find((member) => typeof member === 'string')
  return reason ?? body
}

/** Lists the faults. Names and reasons may come to a terminal, and reasons may be long. */
function listOf(faults: ReadonlyMap<SigningEngine, string>): Fault[] {
  return [...faults].map(([{ name }, why]) => ({ engine: printable(name), why: printable(why).slice(0, 300) }))
}

/**
 * Reads an element of the group, as RFC 9591 section 6.1 has it: honest engines refuse a list with any other point, and
 * would seem to be at fault.
 */
function pointOf(value: unknown): Uint8Array<ArrayBuffer> {
  const bytes = bytesOf(value)
  const point = ed25519.Point.fromBytes(bytes)
  if (point.is0() || !point.isTorsionFree()) throw new Error('that is not an element of the group')
  return bytes
}

function bytesOf(value: unknown): Uint8Array<ArrayBuffer> {
  if (typeof value !== 'string' || !/^[0-9a-f]{64}$/.test(value)) throw new Error('that is not 32 bytes in hexadecimal')
  return new Uint8Array(hexToBytes(value))
}

/** Returns the identifier of FROST: the place in the contract's list, counted from 1. */
function identifierOf(index: number): string {
  return frost.Identifier.fromNumber(index + 1)
}
