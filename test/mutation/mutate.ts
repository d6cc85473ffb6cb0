/**
 * Mutation testing: one small thing wrong at a time, in a copy of the sources, and the tests that should notice it.
 * `npm run mutation -- src/protocol src/verifier/checks/holder.ts:54 [--sample 100] [--seed 1] [--limit 300]
 * [--near] [--thorough]`: folders, files, or a line of a file; a sample of so many of their mutants; the seconds that a
 * mutant may take; only the tests of its own folder of src, which is quick, so that what survives can be asked about
 * again by its line; all tests that reach the file, and not only those that are about it. The mutants that survive and
 * are not explained in explained.ts are printed at the end, with 1 as the exit code.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { seededRandom } from '../fuzz/mutate.ts'
import { compilerOf } from './compiler.ts'
import { copyOf } from './copy.ts'
import { explained } from './explained.ts'
import { type Mutant, mutantsOf } from './mutants.ts'
import { type Change, type Job, type Reach, type Verdict, work } from './worker.ts'

interface Place extends Mutant {
  readonly file: string
  readonly source: string
}

type Outcome = 'killed' | 'survived' | 'explained' | 'time is up' | 'does not compile'

interface Result {
  readonly place: Place
  readonly outcome: Outcome
}

const WORKER = '--worker'
/** The time for all tests of all files, the modules loaded for the first time. */
const WITHOUT_MUTANT = 1_800_000
const LINE = /:(\d+)$/
const ROOT = process.cwd()

if (process.argv[2] === WORKER) await work(process.argv[3] ?? '')
else process.exitCode = await mutate(process.argv.slice(2))

async function mutate(args: string[]): Promise<number> {
  const option = { type: 'string' } as const
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      ...{ sample: option, seed: option, limit: option },
      ...{ near: { type: 'boolean', default: false }, thorough: { type: 'boolean', default: false } },
    },
  })
  const files = [...new Set(positionals.flatMap(filesOf))]
  if (files.length === 0) {
    process.stderr.write('name files or folders: npm run mutation -- src/protocol\n')
    return 2
  }
  const all = positionals.flatMap(placesOf)
  const places = values.sample === undefined ? all : sampleOf(all, Number(values.sample), Number(values.seed ?? 1))
  process.stdout.write(`${places.length} of ${all.length} mutants of ${files.length} files\n`)
  const reach = values.near ? 'near' : values.thorough ? 'all' : 'usual'
  const copy = copyOf(ROOT)
  try {
    return await run(testerOf(copy, Number(values.limit ?? 300) * 1000, reach), files, places)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

async function run(tester: Tester, files: readonly string[], places: readonly Place[]): Promise<number> {
  const failing = await failingWithout(tester, files)
  if (failing === undefined) {
    await tester.end()
    return 2
  }
  const compiles = compilerOf(ROOT)
  const results: Result[] = []
  const judge = async (place: Place, change: Change | undefined): Promise<void> => {
    const verdict = change ? await tester.test({ files: [place.file], change, failing }) : 'refused'
    const result = { place, outcome: outcomeOf(place, verdict) }
    results.push(result)
    const by = typeof verdict === 'object' && verdict.failed !== undefined ? `  (${verdict.failed})` : ''
    process.stdout.write(`${describeResult(result)}${by}\n`)
  }
  let before: Promise<void> = Promise.resolve()
  for (const place of places) {
    const { file, source } = place
    const text = source.slice(0, place.start) + place.text + source.slice(place.end)
    // The mutant before is tested meanwhile: it has been sent by now.
    await setImmediate()
    const change = compiles(file, text) ? { file, source, text } : undefined
    await before
    before = judge(place, change)
  }
  await before
  await tester.end()
  return report(results)
}

/**
 * Returns the test files that fail without a mutant and are left out; undefined when nothing can be said with the
 * others.
 */
async function failingWithout(tester: Tester, files: readonly string[]): Promise<readonly string[] | undefined> {
  const failing: string[] = []
  for (;;) {
    const verdict = await tester.test({ files, change: undefined, failing })
    if (verdict !== undefined && verdict.failed === undefined) return failing
    const failed = verdict?.failed ?? 'time is up'
    process.stderr.write(`${failed}: this is so without a mutant; a test file that fails is left out\n`)
    // A failure that names no test file, or names one again, cannot be left out.
    if (!failed.endsWith('.ts') || failing.includes(failed)) return undefined
    failing.push(failed)
  }
}

function outcomeOf(place: Place, verdict: Verdict | 'refused' | undefined): Outcome {
  if (verdict === undefined) return 'time is up'
  if (verdict === 'refused') return 'does not compile'
  if (verdict.failed !== undefined) return 'killed'
  return explanationOf(place) === undefined ? 'survived' : 'explained'
}

function report(results: readonly Result[]): number {
  const survivors = results.filter(({ outcome }) => outcome === 'survived')
  const counts = new Map<Outcome, number>()
  for (const { outcome } of results) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  const summary = [...counts].map(([outcome, count]) => `${count} ${outcome}`).join(', ')
  process.stdout.write(`\n${[summary, ...survivors.map(describeResult)].join('\n')}\n`)
  return survivors.length > 0 ? 1 : 0
}

function lineOf({ source, start }: Place): number {
  return source.slice(0, start).split('\n').length
}

/** Writes a line for a result: `survived  src/a.ts:12:3  a === b  ->  a !== b`. */
function describeResult({ place: { file, source, start, end, text }, outcome }: Result): string {
  const before = source.slice(0, start).split('\n')
  const position = `${file}:${before.length}:${(before.at(-1)?.length ?? 0) + 1}`
  const short = (code: string): string => {
    const line = oneLine(code)
    return line.length > 100 ? `${line.slice(0, 100)}…` : line
  }
  return `${outcome.padEnd(16)} ${position}  ${short(source.slice(start, end))}  ->  ${short(text) || '(nothing)'}`
}

/** Returns why no test can tell the mutant from the source, where somebody has found out. */
function explanationOf({ file, source, start, end, text }: Place): string | undefined {
  const [before, after] = [oneLine(source.slice(start, end)), oneLine(text)]
  const line = source.slice(source.lastIndexOf('\n', start) + 1).split('\n', 1)[0] ?? ''
  return explained
    .filter(({ within = '' }) => line.includes(within))
    .find((each) => each.file === file && each.before === before && each.after === after)?.why
}

function oneLine(code: string): string {
  return code.replace(/\s+/g, ' ').trim()
}

interface Tester {
  /** Returns the verdict on the job; undefined when it took too long. */
  test(job: Omit<Job, 'reach'>): Promise<Verdict | undefined>
  end(): Promise<void>
}

/** Makes a worker, and another one whenever a mutant does not end. */
function testerOf(copy: string, limit: number, reach: Reach): Tester {
  let worker: Promise<ChildProcess> | undefined
  const started = async (): Promise<ChildProcess> => {
    const child = fork(process.argv[1] ?? '', [WORKER, copy], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    await once(child, 'message')
    return child
  }
  const end = async (): Promise<void> => {
    const child = await worker
    worker = undefined
    if (child?.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit')
  }
  const test: Tester['test'] = async (job) => {
    worker ??= started()
    const child = await worker
    child.send({ ...job, reach } satisfies Job)
    const settled = new AbortController()
    const timer = setTimeout(() => child.kill('SIGKILL'), job.change ? limit : WITHOUT_MUTANT)
    const { signal } = settled
    const message = await Promise.race([
      once(child, 'message', { signal }),
      once(child, 'exit', { signal }).then(() => undefined),
    ])
    clearTimeout(timer)
    settled.abort()
    if (message !== undefined) return message[0] as Verdict
    worker = undefined
    if (job.change) writeFileSync(join(copy, job.change.file), job.change.source)
    return undefined
  }
  return { test, end }
}

/** Lists every source below, but no test; for `file:line`, the file. */
function filesOf(name: string): readonly string[] {
  const path = relative(ROOT, resolve(name.replace(LINE, '')))
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.ts$/.test(file) && !/\.(test|contract)\.ts$/.test(file))
    .map((file) => join(path, file))
    .sort()
}

function placesOf(name: string): readonly Place[] {
  const [, line] = LINE.exec(name) ?? []
  const places = filesOf(name).flatMap((file) => {
    const source = readFileSync(join(ROOT, file), 'utf8')
    return mutantsOf(source).map((mutant) => ({ ...mutant, file, source }))
  })
  return places.filter((place) => line === undefined || lineOf(place) === Number(line))
}

/** Draws so many of them, in their order; the same for the same seed. */
function sampleOf(all: readonly Place[], count: number, seed: number): readonly Place[] {
  const random = seededRandom(seed)
  const drawn = all.map((place, at) => ({ place, at, key: random(2 ** 30) })).sort((a, b) => a.key - b.key)
  return drawn
    .slice(0, count)
    .sort((a, b) => a.at - b.at)
    .map(({ place }) => place)
}
