/**
 * The benchmark: `npm run bench`, or `npm run bench -- QUESTION`. Each question has a file beside this one; floor.ts
 * says what the floor is. The program exits with 1 when a target is missed, and when an answer was wrong.
 */
import { parseArgs } from 'node:util'
import { startPostgres } from '../test/support/postgres-server.ts'
import { measureCallbacks } from './callbacks.ts'
import { measureCodeFlow } from './code-flow.ts'
import { measureDatabase } from './database.ts'
import { measureEngine } from './engine.ts'
import { runEngineFloor } from './engine-floor.ts'
import { runFloor } from './floor.ts'
import { measureInstall } from './install.ts'
import { measureIssuing } from './issuing.ts'
import { issuances, verifications } from './kinds.ts'
import { measureMemory } from './memory.ts'
import { measureParts } from './parts.ts'
import { profile } from './profile.ts'
import { keep, note, publish, show, showTargets, type Verdict } from './report.ts'
import { measureScale } from './scale.ts'
import { measureSoak } from './soak.ts'
import { measureSpeed, type SpeedOptions } from './speed.ts'
import { measureStartup } from './startup.ts'
import { measureStatus } from './status.ts'
import { measureManyLists } from './status-lists.ts'
import { measureTrips } from './trips.ts'
import { makeWorkplace, type Workplace } from './workplace.ts'

const USAGE = `npm run bench -- [flows|issuing|status|status-lists|callbacks|engine|memory|startup|trips|install|database|scale|parts|soak|profile|all|performance] [options]
  flows      processor time and flows per second for each format, beside the floor (default; some minutes)
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
  soak       memory, open files and latency under mixed load, minute by minute (--minutes 30)
  profile    where the processor time goes; keeps nothing
  performance  what docs/performance.md shows, on both databases; npm run docs writes the page (half an hour)
  all        flows, issuing, status, callbacks, memory, startup and install
  --bundle FILE     what is measured (dist/vouchsafe.cjs, made by npm run build)
  --rounds N --flows N --warm-up N   engine: calls of components; of uploads a tenth, and always 3000 before the first round
  --database postgresql   of the services: a server that is started for it; SQLite when absent
  --chain served    engine: the chain is a process of its own, as in production, and its time is not counted
  --workers N       flows: processes of each service, whose processor time is counted together; one when absent
  --only TEXT       flows, profile and engine: only the kinds whose name has this text, as verification or mso_mdoc
`

const questions = [
  'flows',
  'issuing',
  'status',
  'status-lists',
  'code-flow',
  'callbacks',
  'engine',
  'memory',
  'startup',
  'trips',
  'install',
  'database',
  'scale',
  'parts',
  'soak',
  'profile',
] as const

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      bundle: { type: 'string', default: 'dist/vouchsafe.cjs' },
      rounds: { type: 'string', default: '5' },
      flows: { type: 'string' },
      'warm-up': { type: 'string' },
      minutes: { type: 'string', default: '30' },
      only: { type: 'string', default: '' },
      database: { type: 'string', default: 'sqlite' },
      chain: { type: 'string', default: 'local' },
      workers: { type: 'string' },
    },
  })
  const [word = 'flows', script = ''] = positionals
  // The environment of the services that are started.
  if (values.workers !== undefined) process.env.VOUCHSAFE_WORKERS = values.workers
  if (word === 'trips') {
    conclude([await measureTrips(positionals)])
    return
  }
  if (word === 'floor' || word === 'engine-floor') {
    if (word === 'floor') runFloor(script)
    else await runEngineFloor()
    return
  }
  const chosen =
    word === 'all'
      ? questions.filter(
          (each) =>
            !['profile', 'database', 'scale', 'parts', 'soak', 'engine', 'trips', 'code-flow', 'status-lists'].includes(
              each,
            ),
        )
      : questions.filter((each) => each === word)
  const kinds = [...issuances, ...verifications].filter(({ name }) => name.includes(values.only))
  if ((chosen.length === 0 && word !== 'performance') || (kinds.length === 0 && word !== 'engine')) {
    process.stderr.write(USAGE)
    process.exitCode = 2
    return
  }
  // A call takes a small part of what a flow takes.
  const [flows, warmUp] = word === 'engine' ? [8000, 12_000] : [2000, 1000]
  const speed = {
    rounds: Number(values.rounds),
    flows: Number(values.flows ?? flows),
    warmUp: Number(values['warm-up'] ?? warmUp),
  }
  if (word === 'engine') {
    if (values.chain !== 'local' && values.chain !== 'served') throw new Error('--chain is local or served')
    const { only, bundle, chain } = values
    conclude([
      await measureEngine({ rounds: speed.rounds, calls: speed.flows, warmUp: speed.warmUp, only, bundle, chain }),
    ])
    return
  }
  if (word === 'performance') {
    show(`Written to ${await measurePerformance(values.bundle, { ...speed, kinds })}; npm run docs shows it`)
    return
  }
  const verdicts = await inWorkplace(values.bundle, values.database, async (workplace) => {
    const all: Verdict[] = []
    for (const question of chosen) {
      note(`${question}, on Node ${process.version}`)
      if (question === 'flows') all.push(await measureSpeed(workplace, { ...speed, kinds }))
      else if (question === 'issuing') all.push(await measureIssuing(workplace, speed))
      else if (question === 'code-flow') all.push(await measureCodeFlow(workplace, speed))
      else if (question === 'status') all.push(await measureStatus(workplace))
      else if (question === 'status-lists') all.push(await measureManyLists(workplace))
      else if (question === 'callbacks')
        all.push(await measureCallbacks(workplace, { ...speed, bundle: values.bundle }))
      else if (question === 'memory') all.push(await measureMemory(workplace))
      else if (question === 'startup') all.push(await measureStartup(workplace))
      else if (question === 'database') all.push(await measureDatabase(workplace))
      else if (question === 'parts') all.push(await measureParts(workplace))
      else if (question === 'soak') all.push(await measureSoak(workplace, Number(values.minutes)))
      else if (question === 'scale') all.push(await measureScale(workplace, speed))
      else if (question === 'install') all.push(measureInstall(process.cwd()))
      else await profile(workplace, kinds)
    }
    return all
  })
  conclude(verdicts)
}

/** Measures what docs/performance.md shows, and writes it; returns where. */
async function measurePerformance(bundle: string, options: SpeedOptions): Promise<string> {
  const sqlite = await inWorkplace(bundle, 'sqlite', async (workplace) => [
    await measureSpeed(workplace, options),
    await measureParts(workplace),
    await measureScale(workplace, options),
    await measureMemory(workplace),
    await measureStartup(workplace),
  ])
  const postgresql = await inWorkplace(bundle, 'postgresql', async (workplace) => [
    await measureSpeed(workplace, options),
    await measureScale(workplace, options),
  ])
  showTargets([...sqlite, ...postgresql])
  return publish(process.cwd(), { sqlite, postgresql })
}

function conclude(verdicts: readonly Verdict[]): void {
  showTargets(verdicts)
  if (verdicts.length > 0) show(`Kept in ${keep(process.cwd(), verdicts)}`)
  if (verdicts.some(({ targets }) => targets.some(({ reached }) => !reached))) process.exitCode = 1
}

async function inWorkplace<T>(
  bundle: string,
  database: string,
  work: (workplace: Workplace) => Promise<T>,
): Promise<T> {
  if (!['sqlite', 'postgresql'].includes(database)) throw new Error('--database is sqlite or postgresql')
  const server = database === 'postgresql' ? await startPostgres() : undefined
  const workplace = await makeWorkplace(bundle, server?.url)
  process.on('exit', () => workplace.remove())
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
  const result = await work(workplace)
  await server?.stop()
  return result
}

main().catch((error: unknown) => {
  process.stderr.write(`The run is void: ${(error as Error).message}\n`)
  // The program exits at once, because the processes it started would keep it waiting.
  process.exit(1)
})
