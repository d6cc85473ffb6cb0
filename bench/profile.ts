/** Where does the processor time of a flow go? Runs each service under `--cpu-prof` and sums up by function. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Kind } from './kinds.ts'
import { runLoad } from './load.ts'
import { note, show, table } from './report.ts'
import { startService, type Workplace } from './workplace.ts'

/** The part of a V8 profile that is used here. */
export interface Profile {
  readonly nodes: readonly ProfileNode[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

export interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  readonly children?: readonly number[]
}

/** The number of flows in a profile. */
export const FLOWS = 2_000
const SHOWN_ROWS = 45

export async function profile(workplace: Workplace, kinds: readonly Kind[]): Promise<void> {
  for (const kind of kinds) await profileKind(kind, workplace)
}

/** Records the profile of the thread that serves, while flows of a kind run; the start of the service is in it too. */
export async function recordProfile(kind: Kind, workplace: Workplace): Promise<Profile> {
  const directory = join(workplace.directory, `profile-${kind.name.replaceAll(/\W/g, '-')}`)
  const options = ['--cpu-prof', `--cpu-prof-dir=${directory}`, '--cpu-prof-interval=200']
  const service = await startService(workplace, kind, options)
  const make = await kind.prepare(workplace, service.port)
  await runLoad({ port: service.port, flows: await make(FLOWS, 'service') })
  await service.stop()
  // Each thread has a file of its own, and the thread that serves has the first.
  const [file = ''] = readdirSync(directory).sort()
  note(`${kind.name}: ${join(directory, file)}`)
  return JSON.parse(readFileSync(join(directory, file), 'utf8')) as Profile
}

async function profileKind(kind: Kind, workplace: Workplace): Promise<void> {
  const sums = sumUp(await recordProfile(kind, workplace))
  const rows = (by: 'self' | 'total') =>
    [...sums]
      .sort(([, a], [, b]) => b[by] - a[by])
      .slice(0, SHOWN_ROWS)
      .map(([name, { self, total }]) => [name, ...[self, total].map((each) => (each / FLOWS).toFixed(1))])
  show(`${kind.name}, by the time in the function itself, start-up included`)
  show(table(['function', 'self, µs a flow', 'with callees'], rows('self')))
  show(`${kind.name}, by the time with what it calls`)
  show(table(['function', 'self, µs a flow', 'with callees'], rows('total')))
}

function sumUp({ nodes, samples, timeDeltas }: Profile): ReadonlyMap<string, { self: number; total: number }> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const selfOf = new Map<number, number>()
  for (const [index, id] of samples.entries()) selfOf.set(id, (selfOf.get(id) ?? 0) + (timeDeltas[index] ?? 0))
  const sums = new Map<string, { self: number; total: number }>()
  const walk = (node: ProfileNode, above: ReadonlySet<string>): number => {
    const name = nameOf(node)
    const self = selfOf.get(node.id) ?? 0
    const inner = new Set(above).add(name)
    const below = (node.children ?? []).map((id) => byId.get(id)).filter((child) => child !== undefined)
    const total = below.reduce((sum, child) => sum + walk(child, inner), self)
    const sum = sums.get(name) ?? { self: 0, total: 0 }
    sum.self += self
    // A function that calls itself is counted once.
    if (!above.has(name)) sum.total += total
    sums.set(name, sum)
    return total
  }
  const [root] = nodes
  if (root !== undefined) walk(root, new Set())
  return sums
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const where = url === '' ? '' : ` ${url.replace(/^.*\//, '')}:${lineNumber + 1}`
  return `${functionName || '(anonymous)'}${where}`
}
