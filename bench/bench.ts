/**
 * The benchmark: `npm run bench`, or `npm run bench -- QUESTION`. Each question has a file beside this one; floor.ts
 * says what the floor is. The program exits with 1 when an answer was wrong or, but for `performance`, a target was
 * missed.
 */
import { parseArgs } from 'node:util'
import { startPostgres } from '../test/support/postgres-server.ts'
import { shareProblem } from './cpu-share.ts'
import { measureEngine } from './engine.ts'
import { runEngineFloor } from './engine-floor.ts'
import { runFloor } from './floor.ts'
import { issuances, verifications } from './kinds.ts'
import { ask, type Choices, inAll, questions } from './questions.ts'
import { keepResults, note, publishResults, show, showTargets, type Verdict } from './report.ts'
import { measureTrips } from './trips.ts'
import { errorLines, makeWorkplace, type Workplace } from './workplace.ts'

const USAGE = `npm run bench -- [QUESTION] [options]
  flows      processor time and flows per second for each format, beside the floor (default; some minutes)
  builds     processor time for each format, beside that of an earlier build (--beside FILE); fails where it is over 5 % more
  issuing    processor time of issuing one mdoc
  status     processor time of serving a status list, after a change and to who has it
  status-lists  ten million status entries: to issue, serve, revoke and export (some minutes)
  code-flow  processor time of the authorization code flow, and memory with 100,000 pushed requests (some minutes)
  callbacks  whether they keep up with issuing, and what a backlog costs it
  engine     calls of components: processor time and calls per second, beside the floor (some minutes)
  memory     resident memory up to 50,000 flows of each service (some minutes)
  startup    from node to listening
  trips      files and functions of src that a request runs through; trips files names the files
  install    size of a production installation
  database   sessions a second that each database takes, empty and with a million in it (some minutes)
  scale      flows a second with a million sessions, beside an empty database (some minutes)
  parts      shares of the processor time by parts of the source
  requests   processor time of each request of a flow, beside the floor (some minutes)
  statements  statements that PostgreSQL runs for each request
  workers    flows a second with --workers processes (2) beside one, each with a share of a core (--share 0.2);
             on both databases; for root on Linux, whose control groups limit the processes (some minutes)
  soak       memory, open files and latency under mixed load, minute by minute (--minutes 30)
  profile    where the processor time goes; keeps nothing
  performance  what docs/performance.md shows, on both databases; npm run docs writes the page (two hours). Words after
             it choose parts, as performance soak workers; of each part the run before stays beside
  all        flows, issuing, status, callbacks, memory, startup and install
  --bundle FILE     what is measured (dist/vouchsafe.cjs, made by npm run build)
  --beside FILE     builds: the bundle of the earlier build
  --rounds N --flows N --warm-up N   engine: calls of components; of uploads a tenth, and always 3000 before the first round
  --database postgresql   of the services: a server that is started for it; SQLite when absent
  --chain served    engine: the chain is a process of its own, as in production, and its time is not counted
  --workers N       flows: processes of each service, whose processor time is counted together; one when absent
  --only TEXT       flows, builds, requests, profile and engine: only the kinds whose name has this text, as verification or mso_mdoc
`

type Words = ReturnType<typeof readWords>

function readWords() {
  return parseArgs({
    allowPositionals: true,
    options: {
      bundle: { type: 'string', default: 'dist/vouchsafe.cjs' },
      beside: { type: 'string' },
      rounds: { type: 'string' },
      flows: { type: 'string' },
      'warm-up': { type: 'string' },
      minutes: { type: 'string', default: '30' },
      only: { type: 'string', default: '' },
      database: { type: 'string' },
      chain: { type: 'string', default: 'local' },
      workers: { type: 'string' },
      share: { type: 'string', default: '0.2' },
    },
  })
}

async function main(): Promise<void> {
  const words = readWords()
  const [word = 'flows', script = ''] = words.positionals
  if (word === 'floor') runFloor(script)
  else if (word === 'engine-floor') await runEngineFloor()
  else if (word === 'trips') conclude([await measureTrips(words.positionals)])
  else if (word === 'engine') conclude([await measureCalls(words)])
  else await answer(word, words)
}

/** Asks the questions of a word in a workplace of each database. */
async function answer(word: string, { values, positionals: [, ...only] }: Words): Promise<void> {
  const choices = choicesOf(values)
  const chosenQuestions = word === 'all' ? inAll : Object.keys(questions).filter((each) => each === word)
  if ((chosenQuestions.length === 0 && word !== 'performance') || choices.kinds.length === 0) {
    process.stderr.write(USAGE)
    process.exitCode = 2
    return
  }
  // The environment of the services that are started; the comparison of workers says it to each.
  if (values.workers !== undefined && word !== 'workers') process.env.VOUCHSAFE_WORKERS = values.workers
  if (word === 'performance') {
    const unknown = only.filter((each) => !PUBLISHED_QUESTIONS.some(([, all]) => all.includes(each)))
    if (unknown.length > 0) throw new Error(`docs/performance.md shows no ${unknown.join(', ')}`)
    await measurePerformance(choices, only, values.database)
    return
  }
  const databases = values.database ?? (word === 'workers' ? 'sqlite,postgresql' : 'sqlite')
  const verdicts: Verdict[] = []
  for (const database of databases.split(',')) {
    await inWorkplace(choices.bundle, database, async (workplace) => {
      for (const question of chosenQuestions) {
        const verdict = await ask(question, workplace, choices)
        if (verdict !== undefined) verdicts.push(verdict)
      }
    })
  }
  conclude(verdicts)
}

function choicesOf(values: Words['values']): Choices {
  const numberOf = (text: string | undefined) => (text === undefined ? undefined : Number(text))
  return {
    bundle: values.bundle,
    kinds: [...issuances, ...verifications].filter(({ name }) => name.includes(values.only)),
    rounds: numberOf(values.rounds),
    flows: numberOf(values.flows),
    warmUp: numberOf(values['warm-up']),
    minutes: Number(values.minutes),
    workers: Number(values.workers ?? 2),
    share: Number(values.share),
    beside: values.beside,
  }
}

/** Measures calls of components, of which each takes a small part of what a flow takes. */
async function measureCalls({ values }: Words): Promise<Verdict> {
  const { only, bundle, chain, workers } = values
  if (chain !== 'local' && chain !== 'served') throw new Error('--chain is local or served')
  if (workers !== undefined) process.env.VOUCHSAFE_WORKERS = workers
  const numbers = {
    rounds: Number(values.rounds ?? 5),
    calls: Number(values.flows ?? 8000),
    warmUp: Number(values['warm-up'] ?? 12_000),
  }
  return measureEngine({ ...numbers, only, bundle, chain })
}

/** The questions of docs/performance.md, by database; a soak comes last, because it takes longest. */
const PUBLISHED_QUESTIONS: readonly (readonly [database: string, questions: readonly string[]])[] = [
  [
    'sqlite',
    ['flows', 'requests', 'parts', 'scale', 'workers', 'callbacks', 'status', 'status-lists', 'memory', 'startup'],
  ],
  ['postgresql', ['flows', 'scale', 'workers', 'statements']],
  ['sqlite', ['soak']],
]

/** Measures what docs/performance.md shows, or these questions of it, and writes each part when it is measured. */
async function measurePerformance(choices: Choices, only: readonly string[], database: string | undefined) {
  const verdicts: Verdict[] = []
  for (const [name, all] of PUBLISHED_QUESTIONS) {
    const chosenQuestions = all.filter((each) => only.length === 0 || only.includes(each))
    if (chosenQuestions.length === 0 || (database ?? name) !== name) continue
    await inWorkplace(choices.bundle, name, async (workplace) => {
      for (const question of chosenQuestions) {
        const problem = question === 'workers' ? shareProblem() : undefined
        if (problem !== undefined) note(`workers are left out: ${problem}`)
        const verdict = problem === undefined ? await ask(question, workplace, choices) : undefined
        if (verdict === undefined) continue
        verdicts.push(verdict)
        show(`Written to ${publishResults(process.cwd(), name, verdict)}; npm run docs shows it`)
      }
    })
  }
  showTargets(verdicts)
}

function conclude(verdicts: readonly Verdict[]): void {
  showTargets(verdicts)
  if (verdicts.length > 0) show(`Kept in ${keepResults(process.cwd(), verdicts)}`)
  if (verdicts.some(({ targets }) => targets.some(({ reached }) => !reached))) process.exitCode = 1
}

async function inWorkplace<T>(
  bundle: string,
  database: string,
  work: (workplace: Workplace) => Promise<T>,
): Promise<T> {
  if (!['sqlite', 'postgresql'].includes(database)) throw new Error('--database is sqlite or postgresql')
  const server = database === 'postgresql' ? await startPostgres() : undefined
  const workplace = await makeWorkplace(bundle, server)
  process.on('exit', () => workplace.remove())
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
  try {
    return await work(workplace)
  } catch (error) {
    for (const line of errorLines(workplace)) note(line)
    throw error
  } finally {
    await server?.stop()
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`The run is void: ${(error as Error).message}\n`)
  // The program exits at once, because the processes it started would keep it waiting.
  process.exit(1)
})
