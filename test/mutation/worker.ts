/**
 * Runs the tests of one mutant after the other, in a process of its own that is ended when a mutant never ends. vitest
 * stays, with every module that did not change; only the mutated file is loaded anew.
 */
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createVitest, type TestSpecification, type Vitest } from 'vitest/node'

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
  /** Test files that fail anyway. */
  readonly failing: readonly string[]
  /** Also the tests that are about something else and only happen to reach the file. */
  readonly thorough: boolean
}

/** The test file that failed, or undefined when all passed. */
export interface Verdict {
  readonly failed: string | undefined
}

/** Tests of processes, documents and other people's packages: slow, and of the bundle or of nothing that is mutated. */
const LEFT_OUT =
  /test\/(interop|fuzz|mutation|docs|architecture)|test\/e2e\/(demo|doctor|init|main|process|wallet)\.|src\/bin\/|resources\./

/** What answers the verifier's questions; the rest is the issuer's. */
const OF_VERIFIER =
  /^src\/(codec|keys|credential|verifier|protocol\/(dcql|claim-path|transaction-data|oid4vp)[^/]*)(\/|$)/
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
    // A test that other processes hold up has not failed.
    testTimeout: PATIENCE,
    hookTimeout: PATIENCE,
  })
  process.on('message', (job: Job) => {
    void verdictOn(vitest, copy, job).then((verdict) => process.send?.(verdict))
  })
  // Nobody waits for an answer any more.
  process.on('disconnect', () => process.exit())
  process.send?.('ready')
}

async function verdictOn(vitest: Vitest, copy: string, job: Job): Promise<Verdict> {
  const { files, change, failing, thorough } = job
  const write = (content: 'text' | 'source'): void => {
    if (change === undefined) return
    const path = join(copy, change.file)
    writeFileSync(path, change[content])
    vitest.invalidateFile(path)
  }
  write('text')
  const stages = await stagesOf(vitest, copy, files, thorough)
  const counted = stages.map((stage) => stage.filter(({ moduleId }) => !failing.includes(nameOf(copy, moduleId))))
  const verdict = await runStages(vitest, copy, likeliestFirst(copy, job, counted))
  write('source')
  if (verdict.failed !== undefined && change) kills.push({ of: change.file, by: verdict.failed })
  return verdict
}

const kills: { readonly of: string; readonly by: string }[] = []

/** What noticed most mutants of a file is the most likely to notice the next. */
function likeliestFirst(copy: string, { files }: Job, stages: readonly Stage[]): readonly Stage[] {
  const killsBy = (name: string): number => kills.filter(({ of, by }) => files.includes(of) && by === name).length
  const [likeliest] = stages
    .flat()
    .map((each) => ({ each, count: killsBy(nameOf(copy, each.moduleId)) }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count)
  if (likeliest === undefined) return stages
  return [[likeliest.each], ...stages.map((stage) => stage.filter((each) => each !== likeliest.each))]
}

type Stage = readonly TestSpecification[]

function nameOf(copy: string, moduleId: string): string {
  return moduleId.slice(copy.length + 1)
}

async function runStages(vitest: Vitest, copy: string, stages: readonly Stage[]): Promise<Verdict> {
  for (const stage of stages.filter(({ length }) => length > 0)) {
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications([...stage], false)
    // vitest also gives the modules of earlier runs, as they were then.
    const ran = testModules.filter(({ moduleId }) => stage.some((each) => each.moduleId === moduleId))
    const failed = ran.find((module) => module.state() === 'failed')
    if (failed) return { failed: nameOf(copy, failed.moduleId) }
    if (unhandledErrors.length > 0) return { failed: 'an error that nobody caught' }
  }
  return { failed: undefined }
}

const known = new Map<string, readonly Stage[]>()
const STAGES = ['beside the file', 'in its folder', 'attacks', 'flows', 'others'] as const

/** The tests that reach the files, in the order in which they are asked. */
async function stagesOf(
  vitest: Vitest,
  copy: string,
  files: readonly string[],
  thorough: boolean,
): Promise<readonly Stage[]> {
  const key = files.join()
  const cached = known.get(key)
  if (cached) return cached
  const stageOf = new Map<string, { readonly stage: (typeof STAGES)[number]; readonly test: TestSpecification }>()
  for (const file of files) {
    vitest.config.related = [join(copy, file)]
    for (const test of await vitest.getRelevantTestSpecifications()) {
      const name = nameOf(copy, test.moduleId)
      const stage = stageFor(file, name)
      const wanted = (thorough || stage !== 'others') && !LEFT_OUT.test(name)
      if (wanted && !stageOf.has(name)) stageOf.set(name, { stage, test })
    }
  }
  const each = [...stageOf.values()]
  const stages = STAGES.map((stage) => each.filter((one) => one.stage === stage).map(({ test }) => test))
  known.set(key, stages)
  return stages
}

function stageFor(file: string, test: string): (typeof STAGES)[number] {
  if (dirname(test) === dirname(file)) return 'beside the file'
  if (test.startsWith(`${file.split('/').slice(0, 2).join('/')}/`)) return 'in its folder'
  const attacks = OF_VERIFIER.test(file) ? 'test/attacks/verifier' : 'test/attacks/issuer'
  if (test.startsWith(attacks)) return 'attacks'
  return /^test\/e2e\/(formats|mdoc)\./.test(test) ? 'flows' : 'others'
}
