/**
 * Every endpoint of both services under seeded mutations of right requests: no 5xx, no exit, one shape of refusal, the
 * database as it was when refused, and no memory kept. `npm run fuzz -- [count] [seed]`; the seed repeats a run.
 */
import { pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { IssuerCollections } from '../../src/issuer/collections.ts'
import type { Change } from '../../src/store/store.ts'
import type { VerifierCollections } from '../../src/verifier/collections.ts'
import { startCodeFlow } from '../support/code-flow.ts'
import type { Services } from '../support/services.ts'
import { mutateForm, mutateJson, mutateText, pick, type Random, seededRandom } from './mutate.ts'
import { type FuzzRequest, type Target, targets } from './targets.ts'
import { type FuzzWorld, startPresentingWorld, startSignInWorld } from './targets-sign-in.ts'

export interface FuzzOptions {
  /** The mutations of each endpoint. */
  readonly count: number
  readonly seed: number
  readonly say?: ((line: string) => void) | undefined
}

export interface FuzzResult {
  readonly requests: number
  /** The number of answers by status. */
  readonly statuses: Readonly<Record<string, number>>
  /** The bytes in use after a warm-up, and at the end. */
  readonly memory: { readonly before: number; readonly after: number }
  /** The problems, each with the request that shows it. */
  readonly problems: readonly string[]
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY']
const HEADERS = [
  'authorization',
  'content-type',
  'accept',
  'origin',
  'idempotency-key',
  'dpop',
  'if-none-match',
  'accept-encoding',
  'x-forwarded-for',
  'cookie',
  'host',
  'expect',
]
const TYPES = ['application/json', 'application/x-www-form-urlencoded', 'text/plain', 'application/jwt', '*/*', 'a', '']
const IDS = ['__proto__', 'constructor', '%00', '%zz', 'a%2Fb', '..', '%F0%9F', "'--", '*', '']
const MAX_PROBLEMS = 20
/** The mutations of one right request before a fresh one is made. */
const ROUND = 50
/**
 * The rounds of each endpoint whose database is compared as a whole; the count of writes is compared after each
 * request.
 */
const COMPARED_ROUNDS = 20
/** The mutations of each endpoint below which memory says nothing: what grows then is the compiled code. */
const COUNT_FOR_MEMORY = 10_000

export async function fuzz({ count, seed, say }: FuzzOptions): Promise<FuzzResult> {
  const problems: string[] = []
  const unhandled = (reason: unknown): void => void problems.push(`unhandled: ${String(reason)}`)
  process.on('unhandledRejection', unhandled)
  process.on('uncaughtException', unhandled)
  const statuses: Record<string, number> = {}
  const result = { requests: 0, memory: { before: 0, after: 0 } }
  for (const start of [startUsualWorld, startSignInWorld, startPresentingWorld]) {
    const world = await start()
    const run: Run = { services: world.services, statuses, problems, writes: countWrites(world.services), requests: 0 }
    const { before, after } = await fuzzWorld(run, world.targets, { count, seed, say })
    await world.close()
    result.requests += run.requests
    result.memory = { before: result.memory.before + before, after: result.memory.after + after }
  }
  process.off('unhandledRejection', unhandled)
  process.off('uncaughtException', unhandled)
  return { ...result, statuses, problems: problems.slice(0, MAX_PROBLEMS) }
}

async function startUsualWorld(): Promise<FuzzWorld> {
  const services = await startCodeFlow()
  return { services, targets, close: () => services.close() }
}

/** Mutates each endpoint of the services, and gives the bytes in use before and after. */
async function fuzzWorld(
  run: Run,
  endpoints: readonly Target[],
  { count, seed, say }: FuzzOptions,
): Promise<FuzzResult['memory']> {
  // The first requests compile code and schemas and fill caches; what stays in use is counted from then on.
  const warmUp = count < COUNT_FOR_MEMORY ? 0 : Math.ceil(count / 5)
  if (warmUp > 0) {
    for (const [at, target] of endpoints.entries()) await fuzzTarget(run, target, warmUp, seededRandom(seed + at))
  }
  const before = memoryInUse(run.services)
  for (const [at, target] of endpoints.entries()) {
    await fuzzTarget(run, target, count, seededRandom(seed * 1000 + at))
    say?.(`${target.name}: ${run.problems.length} problem(s) so far, ${megabytes(memoryInUse(run.services))} in use`)
    if (run.problems.length >= MAX_PROBLEMS) break
  }
  return { before, after: memoryInUse(run.services) }
}

interface Run {
  readonly services: Services
  readonly statuses: Record<string, number>
  readonly problems: string[]
  /** Counts the batches that have been written so far. */
  readonly writes: () => number
  requests: number
}

async function fuzzTarget(run: Run, target: Target, count: number, random: Random): Promise<void> {
  await fuzzTypes(run, target, random)
  for (let done = 0, round = 0; done < count && run.problems.length < MAX_PROBLEMS; round++) {
    const right = await target.make(run.services, random)
    const stored = round < COMPARED_ROUNDS ? await dump(run.services) : undefined
    const before = run.writes()
    const end = Math.min(count, done + ROUND)
    // A request that had its effect has used up what it was made of.
    for (; done < end && run.writes() === before; done++) await fuzzOnce(run, target.name, mutate(random, right))
    if (stored !== undefined && run.writes() === before && (await dump(run.services)) !== stored) {
      run.problems.push(`${target.name}: the database changed and no write was seen`)
    }
    if (stored !== undefined) run.problems.push(...(await progressProblems(run.services)))
    forgetLog(run.services)
    // Requests that never wait for a disk would otherwise keep the event loop from ending what they began.
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Sends the right body by every media type, its own among them, and by none. */
async function fuzzTypes(run: Run, target: Target, random: Random): Promise<void> {
  let sample = await target.make(run.services, random)
  let before = run.writes()
  for (const type of [...TYPES, undefined]) {
    // A request that had its effect has used up what it was made of.
    if (run.writes() !== before) sample = await target.make(run.services, random)
    before = run.writes()
    const { body, headers, ...right } = sample
    if (body === undefined) return
    const others = Object.entries(headers).filter(([name]) => name !== 'content-type')
    const called = Object.fromEntries(type === undefined ? others : [...others, ['content-type', type]])
    await fuzzOnce(run, target.name, { ...right, headers: called, payload: payloadOf(body) })
  }
}

async function fuzzOnce(run: Run, name: string, request: FuzzRequest & { readonly payload?: string }): Promise<void> {
  const before = run.writes()
  const { service, method, path, headers, payload } = request
  const options = { method: method as 'GET', url: path, headers, ...(payload === undefined ? {} : { payload }) }
  run.requests++
  const answer = await run.services[service].inject(options)
  run.statuses[answer.statusCode] = (run.statuses[answer.statusCode] ?? 0) + 1
  const problem = problemOf(method, answer) ?? (run.writes() === before ? undefined : writeProblem(answer))
  if (problem !== undefined) {
    run.problems.push(
      `${name}: ${problem}\n  ${method} ${path} ${JSON.stringify(headers)}\n  ${(payload ?? '').slice(0, 2000)}`,
    )
  }
}

type Answer = Awaited<ReturnType<Services['issuer']['inject']>>

function problemOf(method: string, { statusCode, headers, body }: Answer): string | undefined {
  if (statusCode >= 500) return `status ${statusCode}: ${body}`
  if (headers['x-content-type-options'] !== 'nosniff' || !headers['x-request-id'])
    return `status ${statusCode} without its headers`
  if (statusCode < 400 || method === 'HEAD') return undefined
  const members = /^\{"error":"[a-z_]+","error_description":"(?:[^"\\]|\\.)+"\}$/.test(body)
  return members ? undefined : `status ${statusCode} with the body ${body.slice(0, 500)}`
}

/**
 * The writes of refusals: a presentation that was read and found wanting ends its session, a wrong transaction code
 * counts, so does an answer of the provider or the verifier, and a code or a secret that somebody else has ends what it
 * is for. All others write nothing.
 */
const WRITTEN = [
  '"the presentation was not accepted"',
  '"tx_code: this is not the transaction code"',
  'the answer of the sign-in provider does not hold',
  'the sign-in provider signed nobody in',
  'no presentation came with this address',
  'this is another browser',
  'its tokens are no longer valid',
]

function writeProblem({ statusCode, body }: Answer): string | undefined {
  if (statusCode < 400 || WRITTEN.some((text) => body.includes(text))) return undefined
  return `refused with ${statusCode}, and something was written: ${body}`
}

function mutate(random: Random, request: FuzzRequest): FuzzRequest & { readonly payload?: string } {
  const { body } = request
  const right = body === undefined ? undefined : payloadOf(body)
  let { method, path, headers } = request
  let payload = right
  for (let left = 1 + random(2); left > 0; left--) {
    const kind = random(body === undefined ? 8 : 20)
    if (kind === 0) method = pick(random, METHODS)
    else if (kind <= 3) path = mutatePath(random, path)
    else if (kind <= 7) headers = mutateHeaders(random, headers)
    else payload = mutateBody(random, request, payload ?? '')
  }
  return { ...request, method, path, headers, ...(payload === undefined ? {} : { payload }) }
}

function payloadOf(body: NonNullable<FuzzRequest['body']>): string {
  if ('text' in body) return body.text
  return 'form' in body ? body.form : JSON.stringify(body.json)
}

function mutateBody(random: Random, { body }: FuzzRequest, payload: string): string {
  if (body === undefined || 'text' in body || random(6) === 0) return mutateText(random, payload)
  if ('form' in body) return mutateForm(random, payload)
  return JSON.stringify(mutateJson(random, body.json))
}

function mutatePath(random: Random, path: string): string {
  const parts = path.split('/')
  const at = 1 + random(parts.length - 1)
  switch (random(5)) {
    case 0:
      return `${path}?${mutateText(random, 'access_token=a&api_key=b')}`
    case 1:
      return `${path}/`
    case 2:
      parts[at] = pick(random, IDS)
      break
    default:
      parts[at] = mutateText(random, parts[at] ?? '')
  }
  // A path leaves out what `inject` would take for another host, or Node for the end of the request line.
  return `/${parts
    .join('/')
    .replace(/^[/\\]+/, '')
    .replace(/[\s\\]/g, '_')}`
}

function mutateHeaders(random: Random, headers: FuzzRequest['headers']): FuzzRequest['headers'] {
  const name = pick(random, HEADERS)
  const value = headers[name] ?? ''
  const others = Object.fromEntries(Object.entries(headers).filter(([other]) => other !== name))
  if (random(4) === 0) return others
  const other = random(3) === 0 ? pick(random, TYPES) : mutateText(random, value)
  // Node itself refuses the others.
  return { ...others, [name]: other.replace(/[^\t -~\u0080-\u00ff]/g, '_') }
}

const OF_ISSUER = [
  'credential_configuration',
  'issuance_session',
  'issuance_dataset',
  'deferred_transaction',
  'authorization_request',
  'pre_authorized_code',
  'idempotent_answer',
  'credential_status',
  'spent_nonce',
] as const

async function dump({ issuerStore, verifierStore }: Services): Promise<string> {
  const lists = [
    ...OF_ISSUER.map((name) => issuerStore.list(name)),
    ...(['verification_query', 'verification_session'] as const).map((name) => verifierStore.list(name)),
  ]
  return JSON.stringify(await Promise.all(lists as Promise<unknown>[]))
}

/** The most characters of the progress of a session: ten refusals, each with a sentence of 300 at most. */
const MAX_PROGRESS = 5000

/**
 * Finds problems of the rows of progress: a refusal may be remembered in the row of the session that it was for, in a
 * bounded space, and nowhere else.
 */
async function progressProblems({ issuerStore, verifierStore }: Services): Promise<readonly string[]> {
  const lists = [
    await issuerStore.list('issuance_session'),
    await verifierStore.list('verification_session'),
    await issuerStore.list('issuance_progress'),
    await verifierStore.list('verification_progress'),
  ] as const
  const [issuances, verifications, ...progress] = lists
  const sessions = new Set([...issuances, ...verifications].map(({ id }) => id))
  return progress.flat().flatMap(({ id, value }) => {
    const { length } = JSON.stringify(value)
    if (!sessions.has(id)) return [`progress was written for ${id}, which is not a session`]
    return length > MAX_PROGRESS ? [`the progress of ${id} has ${length} characters`] : []
  })
}

/**
 * Counts the batches that were written, by standing between the services and their stores. Batches of progress alone
 * are not counted: they come up to a second after their requests, while another one runs, and {@link progressProblems}
 * looks at them.
 */
function countWrites({ issuerStore, verifierStore }: Services): () => number {
  let writes = 0
  const counted = <T>(conflict: T | undefined): T | undefined => {
    if (conflict === undefined) writes++
    return conflict
  }
  const issuerCommit = issuerStore.commit.bind(issuerStore)
  const verifierCommit = verifierStore.commit.bind(verifierStore)
  issuerStore.commit = async (changes) => {
    const conflict = await issuerCommit(changes)
    return changes.every(isOfProgress) ? conflict : counted(conflict)
  }
  verifierStore.commit = async (changes) => {
    const conflict = await verifierCommit(changes)
    return changes.every(isOfProgress) ? conflict : counted(conflict)
  }
  return () => writes
}

function isOfProgress(change: Change<IssuerCollections & VerifierCollections>): boolean {
  const collection = 'insert' in change ? change.insert : 'update' in change ? change.update : undefined
  return collection === 'issuance_progress' || collection === 'verification_progress'
}

/** Drops the lines of the log, which the test keeps and not the services. */
function forgetLog({ logLines }: Services): void {
  ;(logLines as string[]).length = 0
}

function memoryInUse(services: Services): number {
  forgetLog(services)
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

async function main(): Promise<void> {
  const [word, ...numbers] = process.argv.slice(2)
  if (word === 'cost') return (await import('./cost-run.ts')).runCostSearch(numbers.map(Number))
  const [count = 20_000, seed = Date.now() % 1_000_000] = process.argv.slice(2).map(Number)
  const say = (line: string): void => void process.stdout.write(`${line}\n`)
  say(
    `${targets.length} endpoints, ${count} mutations each, seed ${seed}; again with: npm run fuzz -- ${count} ${seed}`,
  )
  const { requests, statuses, memory, problems } = await fuzz({ count, seed, say })
  const grown = memory.after / memory.before - 1
  say(`\n${requests} requests, answered ${JSON.stringify(statuses)}`)
  say(
    `memory in use ${megabytes(memory.before)} before, ${megabytes(memory.after)} after (${(grown * 100).toFixed(1)} %)`,
  )
  for (const problem of problems) say(`\n${problem}`)
  const failed = problems.length > 0 || (count >= COUNT_FOR_MEMORY && grown > 0.1)
  say(failed ? '\nFAILED' : '\nNo 5xx, nothing unhandled, no write on a refusal')
  process.exitCode = failed ? 1 : 0
}

function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MB`
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) await main()
