/**
 * Runs the tests of one mutant after the other, in a process of its own that is ended when a mutant never ends. vitest
 * stays, with every module that did not change; only the mutated file is loaded anew.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createVitest, type TestSpecification, type Vitest } from 'vitest/node'

/** The file, by its path in the copy, has `text` while its tests run, and `source` again afterwards. */
export interface Job {
  readonly file: string
  readonly source: string
  readonly text: string
  /** Test files that fail anyway. */
  readonly failing: readonly string[]
}

/** The test file that failed, or undefined when all passed. */
export interface Verdict {
  readonly failed: string | undefined
}

/** Tests of processes, documents and other people's packages: slow, and of the bundle or of nothing that is mutated. */
const LEFT_OUT =
  /test\/(interop|fuzz|mutation|docs|architecture)|test\/e2e\/(demo|doctor|init|main|process|wallet)\.|src\/bin\/|resources\./

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
  })
  process.on('message', (job: Job) => {
    void verdictOn(vitest, copy, job).then((verdict) => process.send?.(verdict))
  })
  // Nobody waits for an answer any more.
  process.on('disconnect', () => process.exit())
  process.send?.('ready')
}

async function verdictOn(vitest: Vitest, copy: string, { file, source, text, failing }: Job): Promise<Verdict> {
  const path = join(copy, file)
  const write = (content: string): void => {
    writeFileSync(path, content)
    vitest.invalidateFile(path)
  }
  write(text)
  const stages = await stagesOf(vitest, copy, file)
  const counted = stages.map((stage) => stage.filter(({ moduleId }) => !failing.includes(nameOf(copy, moduleId))))
  const verdict = await runStages(vitest, copy, counted)
  write(source)
  return verdict
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

/** The tests that reach the file: those beside it first, then the attacks, then the others. */
async function stagesOf(vitest: Vitest, copy: string, file: string): Promise<readonly Stage[]> {
  const cached = known.get(file)
  if (cached) return cached
  vitest.config.related = [join(copy, file)]
  const all = await vitest.getRelevantTestSpecifications()
  const specifications = all.filter(({ moduleId }) => !LEFT_OUT.test(moduleId.slice(copy.length)))
  const folder = file.split('/').slice(0, 2).join('/')
  const stageOf = ({ moduleId }: TestSpecification): number => {
    if (moduleId.startsWith(join(copy, folder))) return 0
    return moduleId.includes('/test/attacks/') ? 1 : 2
  }
  const stages = [0, 1, 2].map((stage) => specifications.filter((each) => stageOf(each) === stage))
  known.set(file, stages)
  return stages
}
