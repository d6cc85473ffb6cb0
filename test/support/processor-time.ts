/** Processor time of this process, all its threads together, which other work of the machine does not lengthen. */
import { createHash } from 'node:crypto'
import type { JsonObject } from '../../src/codec/json.ts'

/** Milliseconds of processor time that the known work takes on a machine for which the limits of tests are meant. */
const KNOWN_WORK_MS = 20
/** The number of times that the known work is measured, of which the first compile it. */
const KNOWN_WORK_TIMES = 7

/** Measures the milliseconds of processor time that `run` takes. */
async function processorMs(run: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/**
 * Measures three times, and returns the least, because threads beside and the collection of garbage only add to what
 * `run` takes.
 */
export async function leastProcessorMs(run: () => unknown): Promise<number> {
  const times = [await processorMs(run), await processorMs(run), await processorMs(run)]
  return Math.min(...times)
}

/**
 * Returns the processor time of `run` as a part of `limitMs`, of which a slow machine is allowed more. The least of
 * three times decides; the first that is at most 1 is enough.
 */
export async function partOfLimit(limitMs: number, run: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let count = 0; count < 3 && least > 1; count += 1) least = Math.min(least, (await processorMs(run)) / limitMs)
  return least > 1 ? least / (await slowness()) : least
}

/**
 * Returns how many times longer the known work takes on this machine at present than the limits suppose; at least 1.
 */
export async function slowness(): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let count = 0; count < KNOWN_WORK_TIMES; count += 1) least = Math.min(least, await processorMs(knownWork))
  return Math.max(1, least / KNOWN_WORK_MS)
}

/** Does the work that requests cost: writes, reads and looks through JSON, decodes and hashes. */
function knownWork(): string {
  const members = Array.from({ length: 9000 }, (_, at) => [`name ${at}`, { id: at, type: [`type ${at}`] }] as const)
  const text = Buffer.from(JSON.stringify(Object.fromEntries(members))).toString('base64url')
  const read = new Map(Object.entries(JSON.parse(Buffer.from(text, 'base64url').toString()) as JsonObject))
  const digest = createHash('sha256')
  for (const [name] of members) digest.update(JSON.stringify(read.get(name)))
  return digest.digest('hex')
}
