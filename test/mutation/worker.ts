/**
 * Runs the tests of one mutant after the other, in a process of its own that is ended when a mutant never ends. vitest
 * stays, with every module that did not change; only the mutated file is loaded anew.
 */
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createVitest, type TestSequencerConstructor, type TestSpecification, type Vitest } from 'vitest/node'

/** A file, by its path in the copy, that has `text` while its tests run, and `source` again afterwards. */
export interface Change {
  readonly file: string
  readonly source: string
  readonly text: string
}

/** The tests that should notice a change in one of `files`, and the change; none to see that they pass without. */
export interface Job {
  readonly files: readonly string[]
  readonly change: Change | undefined
  /** The test files that fail anyway. */
  readonly failing: readonly string[]
  readonly reach: Reach
}

/** The tests of the file's own folder of src; those that are about it; also those that only happen to reach it. */
export type Reach = 'near' | 'usual' | 'all'

/** The test file that failed, or undefined when all passed. */
export interface Verdict {
  readonly failed: string | undefined
}

/** Tests of processes, documents and other people's packages: slow, and of the bundle or of nothing that is mutated. */
const LEFT_OUT =
  /test\/(interop|fuzz|mutation|docs|architecture)|test\/e2e\/(demo|doctor(-\w+)?|init|main|process|wallet)\.|src\/bin\/|resources\./

/** The sources about which the tests of the verifier are; those of the issuer are about the rest. */
const OF_VERIFIER =
  /^src\/(check|codec|keys|credential|verifier|protocol\/(dcql|claim-path|transaction-data|oid4vp|iso-mdoc)[^/]*)(\/|$)/
/** The test that takes whatever comes in, which is much work for the few mutants that no other test notices. */
const FUZZ = /^src\/credential\/readers\./
const PATIENCE = 120_000

export async function work(copy: string): Promise<void> {
  const vitest = await createVitest({
    root: copy,
    watch: false,
    bail: 1,
    pool: 'threads',
    maxWorkers: 1,
    isolate: false,
    cache: false,
    reporters: [{}],
    sequence: { sequencer: InTheirOrder as unknown as TestSequencerConstructor },
    // A test that other processes hold up has not failed.
    testTimeout: PATIENCE,
    hookTimeout: PATIENCE,
  })
  process.on('message', (job: Job) => {
    void verdictOn(vitest, copy, job).then((verdict) => process.send?.(verdict))
  })
  // The process ends when no other waits for an answer any more.
  process.on('disconnect', () => process.exit())
  process.send?.('ready')
}

async function verdictOn(vitest: Vitest, copy: string, job: Job): Promise<Verdict> {
  const { files, change, failing, reach } = job
  const write = (content: 'text' | 'source'): void => {
    if (change === undefined) return
    const path = join(copy, change.file)
    writeFileSync(path, change[content])
    vitest.invalidateFile(path)
  }
  write('text')
  const tests = await testsOf(vitest, copy, files, reach)
  const counted = tests.filter(({ name }) => !failing.includes(name))
  const verdict = await runInTurn(vitest, copy, likeliestFirst(counted))
  write('source')
  const killer = tests.find(({ name }) => name === verdict.failed)
  if (killer && change) {
    killer.kills += 1
    lastKiller = killer.name
  }
  return verdict
}

/** A test file that reaches what is mutated. */
interface Test {
  readonly name: string
  readonly specification: TestSpecification
  /** The number of mutants that the file noticed; before the first, how many it may be expected to. */
  kills: number
}

/** The milliseconds that a test file takes, from the last time that all of it ran and passed. */
const milliseconds = new Map<string, number>()
const TO_BEGIN = 200

/** The test file that noticed a mutant last: the next mutant is mostly of the same line. */
let lastKiller: string | undefined

/** Sorts the tests so that the one that fails is soonest found. */
function likeliestFirst(tests: readonly Test[]): readonly Test[] {
  const rate = ({ name, kills }: Test): number =>
    name === lastKiller ? Number.POSITIVE_INFINITY : kills / ((milliseconds.get(name) ?? 0) + TO_BEGIN)
  return [...tests].sort((a, b) => rate(b) - rate(a))
}

/** Keeps the order of the tests: vitest begins with the largest file unless a sequencer says otherwise. */
function InTheirOrder(): object {
  return { sort: (tests: unknown) => tests, shard: (tests: unknown) => tests }
}

/** Runs a few tests at first: vitest loads all the files of a run, also when the first of them has failed. */
async function runInTurn(vitest: Vitest, copy: string, tests: readonly Test[]): Promise<Verdict> {
  let rest = tests
  for (let count = 1; rest.length > 0; count *= 3) {
    const verdict = await run(vitest, copy, rest.slice(0, count))
    if (verdict.failed !== undefined) return verdict
    rest = rest.slice(count)
  }
  return { failed: undefined }
}

async function run(vitest: Vitest, copy: string, tests: readonly Test[]): Promise<Verdict> {
  if (tests.length === 0) return { failed: undefined }
  const names = new Set(tests.map(({ name }) => name))
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(
    tests.map(({ specification }) => specification),
    false,
  )
  // vitest also gives the modules of earlier runs, as they were then.
  const ran = testModules.filter(({ moduleId }) => names.has(nameOf(copy, moduleId)))
  const failed = ran.find((module) => module.state() === 'failed')
  if (failed) return { failed: nameOf(copy, failed.moduleId) }
  for (const module of ran) milliseconds.set(nameOf(copy, module.moduleId), module.diagnostic().duration)
  return { failed: unhandledErrors.length > 0 ? 'an error that nobody caught' : undefined }
}

function nameOf(copy: string, moduleId: string): string {
  return moduleId.slice(copy.length + 1)
}

const cache = new Map<string, readonly Test[]>()

async function testsOf(vitest: Vitest, copy: string, files: readonly string[], reach: Reach): Promise<readonly Test[]> {
  const key = files.join()
  const cached = cache.get(key)
  if (cached) return cached
  const tests = new Map<string, Test>()
  for (const file of files) {
    vitest.config.related = [join(copy, file)]
    for (const specification of await vitest.getRelevantTestSpecifications()) {
      const name = nameOf(copy, specification.moduleId)
      const kills = LEFT_OUT.test(name) ? 0 : expectedKills(file, name, reach)
      if (kills > 0 && !tests.has(name)) tests.set(name, { name, specification, kills })
    }
  }
  cache.set(key, [...tests.values()])
  return [...tests.values()]
}

/**
 * Estimates the kills of a test: of those beside the file, of those of its folder of src and of its own attacks, of all
 * attacks, of flows with every format, of the others.
 */
function expectedKills(file: string, test: string, reach: Reach): number {
  if (reach === 'near' && FUZZ.test(test)) return 0
  if (dirname(test) === dirname(file)) return 5
  if (test.startsWith(`${file.split('/').slice(0, 2).join('/')}/`)) return 2
  if (/mdoc/.test(file) && test.startsWith('test/attacks/verifier-mdoc')) return 2
  if (reach === 'near') return 0
  if (test.startsWith('src/verifier/') && OF_VERIFIER.test(file)) return 1
  if (test.startsWith(OF_VERIFIER.test(file) ? 'test/attacks/verifier' : 'test/attacks/issuer')) return 2
  if (/^test\/e2e\/(formats|mdoc|verification)\./.test(test)) return 1
  return reach === 'all' ? 0.1 : 0
}
