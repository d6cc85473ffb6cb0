/** Divides the processor time of a flow among the parts of the source, by a profile of the thread that serves. */
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { commandOptions, WITH_REQUIRE } from '../build/bundle-options.js'
import type { Kind } from './kinds.ts'
import { FLOWS, type Profile, type ProfileNode, recordProfile } from './profile.ts'
import { show, table, type Verdict } from './report.ts'
import { makeWorkplace, type Workplace } from './workplace.ts'

const WORKERS = ['component-worker.cjs', 'sqlite-check-thread.cjs', 'sqlite-writer-thread.cjs']

/** The parts, each with the beginnings of its modules. A function of none counts to the part of its caller. */
const PARTS: readonly (readonly [name: string, modules: readonly string[]])[] = [
  [
    'HTTP and sockets',
    ['src/http/', 'node_modules/fast', 'node_modules/find-my-way', 'node:_http', 'node:net', 'node:internal/stream'],
  ],
  ['signatures, keys, digests', ['src/keys/', 'node:internal/crypto']],
  ['database', ['src/store/', 'src/thread/', 'node_modules/pg', 'node:internal/worker']],
  [
    'log, metrics, callbacks, audit',
    [
      'src/event/',
      'src/callback/',
      'src/audit/',
      'src/bin/',
      'node_modules/pino',
      'node_modules/prom-client',
      'node_modules/sonic-boom',
    ],
  ],
  ['formats and encodings', ['src/codec/', 'src/credential/', 'node_modules/cborg']],
  ['protocols and checks', ['src/issuer/', 'src/verifier/', 'src/protocol/', 'src/check/', 'src/config/']],
]
const COLLECTOR = 'garbage collection'
const REST = 'Node itself'

type Shares = Readonly<Record<string, number>>

/** Measures with a bundle that keeps its lines, so that each function is found in its module. */
export async function measureParts(workplace: Workplace, kinds: readonly Kind[]): Promise<Verdict> {
  const root = process.cwd()
  const directory = mkdtempSync(join(root, 'node_modules', '.parts-'))
  const bundle = join(directory, 'vouchsafe.cjs')
  try {
    await build({
      ...commandOptions,
      ...WITH_REQUIRE,
      absWorkingDir: root,
      ...{ entryPoints: ['src/bin/vouchsafe.ts'], outfile: bundle, minifyWhitespace: false, legalComments: 'none' },
      define: { 'import.meta.dirname': '__dirname' },
    })
    for (const name of WORKERS) copyFileSync(join(root, 'dist', name), join(directory, name))
    const place = await makeWorkplace(bundle, workplace.postgres)
    const results: Record<string, Shares> = {}
    try {
      for (const kind of kinds) results[kind.name] = await sharesOf(kind, place)
    } finally {
      place.remove()
    }
    showShares(results)
    return { section: 'parts', options: { flows: FLOWS }, results, targets: [] }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function sharesOf(kind: Kind, workplace: Workplace): Promise<Shares> {
  const moduleAt = readModules(readFileSync(workplace.bundle, 'utf8'))
  return addUp(await recordProfile(kind, workplace), ({ callFrame: { functionName, url, lineNumber } }, part) => {
    if (functionName === '(idle)') return undefined
    if (functionName === '(garbage collector)') return COLLECTOR
    const module = url.endsWith('vouchsafe.cjs') ? moduleAt(lineNumber) : url
    return PARTS.find(([, modules]) => modules.some((each) => module.startsWith(each)))?.[0] ?? part
  })
}

/** Returns the function that tells which module a line of the bundle is of: a comment begins each module. */
function readModules(text: string): (line: number) => string {
  let current = ''
  const modules = text.split('\n').map((line) => {
    current = /^\s*\/\/ ((?:src|node_modules)\/\S+)$/.exec(line)?.[1] ?? current
    return current
  })
  return (line) => modules[line] ?? ''
}

/**
 * Adds up the time by part, each as a share of all. `partOf` is given the part of the caller, and leaves a function out
 * by undefined.
 */
function addUp(
  { nodes, samples, timeDeltas }: Profile,
  partOf: (node: ProfileNode, part: string) => string | undefined,
): Shares {
  const times = new Map<number, number>()
  for (const [index, id] of samples.entries()) times.set(id, (times.get(id) ?? 0) + (timeDeltas[index] ?? 0))
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const sums: Record<string, number> = {}
  const walk = (node: ProfileNode, above: string): void => {
    const part = partOf(node, above)
    if (part === undefined) return
    sums[part] = (sums[part] ?? 0) + (times.get(node.id) ?? 0)
    for (const id of node.children ?? []) {
      const child = byId.get(id)
      if (child !== undefined) walk(child, part)
    }
  }
  const [top] = nodes
  if (top !== undefined) walk(top, REST)
  const whole = Object.values(sums).reduce((sum, each) => sum + each, 0)
  return Object.fromEntries(
    Object.entries(sums)
      .sort(([, a], [, b]) => b - a)
      .map(([name, time]) => [name, time / whole]),
  )
}

function showShares(results: Readonly<Record<string, Shares>>): void {
  for (const [name, shares] of Object.entries(results)) {
    const rows = Object.entries(shares).map(([part, share]) => [part, `${(share * 100).toFixed(0)} %`])
    show(table([`${name}: the thread that serves`, 'share'], rows))
  }
}
