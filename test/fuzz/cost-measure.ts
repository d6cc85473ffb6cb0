/** The processor time of a request, as a part of what its size allows. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { slowness } from '../support/processor-time.ts'
import { type Candidate, traitOf } from './cost-candidates.ts'
import type { CostRequest, CostTarget, CostWorld } from './cost-world.ts'
import type { Growth } from './growth.ts'

/** The milliseconds of processor time that a request may cost, and those for each kilobyte of it. */
const BASE_MS = 40
const MS_PER_KB = 0.2
/** The number of measurements of a request that seems to cost too much. */
const MEASUREMENTS = 7

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Sends the request with the growths once; one that cannot be made costs nothing and has no trait. */
export async function measure(world: CostWorld, target: CostTarget, growths: readonly Growth[]): Promise<Candidate> {
  const request = await target.make(world, growths).catch(() => undefined)
  if (request === undefined) return { growths, ratio: 0, trait: '' }
  world.requests += 1
  const { signingIn, presenting } = world.signIn
  const logs = [world.world, signingIn, presenting].map(({ services }) => services.logLines as string[])
  for (const lines of logs) lines.length = 0
  const before = process.cpuUsage()
  const { statusCode, body } = await world.send(request)
  const { user, system } = process.cpuUsage(before)
  const ratio = (user + system) / 1000 / allowedFor(request)
  const trait = traitOf(statusCode, body, logs.flat())
  return { growths, ratio: ratio > 1 ? ratio / (await slowness()) : ratio, trait }
}

/**
 * Returns the least of several measurements, each but the first after what is left of earlier requests has been
 * collected: that work, other work of the machine, and code that is not compiled yet, only add. The first that is at
 * most 1 decides.
 */
export async function costOf(world: CostWorld, target: CostTarget, growths: readonly Growth[]): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let count = 0; count < MEASUREMENTS && least > 1; count += 1) {
    if (count > 0) collect()
    least = Math.min(least, (await measure(world, target, growths)).ratio)
  }
  return least
}

function allowedFor({ path, headers, body = '', answeredBytes = 0 }: CostRequest): number {
  const head = Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length, path.length)
  return BASE_MS + ((head + Buffer.byteLength(body) + answeredBytes) / 1024) * MS_PER_KB
}
