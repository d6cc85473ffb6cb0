/** A client of the API of the OpenID Foundation's conformance suite, which runs the modules of a plan one by one. */
import { setTimeout as wait } from 'node:timers/promises'

type Names = Readonly<Record<string, string>>

/** A plan of the suite, with the configuration that a person would give in its form. */
export interface SuitePlan {
  readonly name: string
  readonly variant: Names
  /** The JSON of the configuration, without `alias`. */
  readonly configuration: object
  /** Does what a module waits for; called every second, so that it has to know what it did before. */
  readonly answer?: (run: WaitingRun) => Promise<void>
}

/** The service that a plan is run against. */
export interface SuiteTarget {
  readonly plans: readonly SuitePlan[]
  close(): Promise<void>
}

/** A module that waits for a browser, an offer or a request. */
export interface WaitingRun {
  readonly id: string
  readonly module: string
  /** The values that the module shows, such as the address that it waits at. */
  readonly exposed: Names
  /** The addresses that the module wants to be opened in a browser. */
  readonly urls: readonly string[]
  /** Returns how often the module came to the condition. */
  count(condition: string): Promise<number>
}

export interface ModuleOutcome {
  readonly module: string
  readonly id: string
  /** `PASSED`, `WARNING`, `REVIEW`, `SKIPPED`, `FAILED`, or the status of a module that did not end. */
  readonly result: string
  /** The entries of the log that are more than a success, each on a line. */
  readonly remarks: readonly string[]
}

interface LogEntry {
  readonly src: string
  readonly msg?: string
  readonly result?: string
  readonly requirements?: readonly string[]
}

interface RunnerState {
  readonly exposed?: Names
  readonly browser?: { readonly urls?: readonly string[] }
}

interface PlanModule {
  readonly testModule: string
  readonly variant?: Names
}

const LONGEST_MS = 300_000
const PROBLEMS = ['FAILURE', 'WARNING', 'SKIPPED']

export class SuiteClient {
  readonly #suite: URL

  constructor(suite: URL) {
    this.#suite = suite
  }

  /** Returns the version and the revision of the suite. */
  async fetchVersion(): Promise<string> {
    const { version, revision } = await this.#call<Names>('GET', 'server')
    return `${version}, revision ${revision}`
  }

  /** Creates a plan in the suite, and returns its id and its modules. */
  async createPlan({ name, variant, configuration }: SuitePlan, alias: string) {
    const query = { planName: name, variant: JSON.stringify(variant) }
    const body = JSON.stringify({ alias, description: name, ...configuration })
    return this.#call<{ readonly id: string; readonly modules: readonly PlanModule[] }>('POST', 'plan', query, body)
  }

  /** Runs a module to its end, and calls `answer` while the module waits. */
  async runModule(
    plan: string,
    { testModule: module, variant = {} }: PlanModule,
    answer: SuitePlan['answer'],
  ): Promise<ModuleOutcome> {
    const query = { test: module, plan, variant: JSON.stringify(variant) }
    const { id } = await this.#call<{ readonly id: string }>('POST', 'runner', query)
    const ends = Date.now() + LONGEST_MS
    for (;;) {
      const { status, result } = await this.#call<Names>('GET', `info/${id}`)
      const isOver = status === 'FINISHED' || status === 'INTERRUPTED' || Date.now() > ends
      if (isOver) return this.#outcome({ module, id, result: result ?? `${status}` })
      if (status === 'CONFIGURED') await this.#call('POST', `runner/${id}`)
      if (status === 'WAITING' && answer) await answer(await this.#waitingRun(id, module))
      await wait(1000)
    }
  }

  async #waitingRun(id: string, module: string): Promise<WaitingRun> {
    const { exposed = {}, browser } = await this.#call<RunnerState>('GET', `runner/${id}`)
    const count = async (condition: string) => (await this.#log(id)).filter(({ src }) => src === condition).length
    return { id, module, exposed, urls: browser?.urls ?? [], count }
  }

  async #outcome(ended: Omit<ModuleOutcome, 'remarks'>): Promise<ModuleOutcome> {
    // A module that passed leaves the places for pictures empty that it had no use for.
    const levels = ended.result === 'PASSED' ? PROBLEMS : [...PROBLEMS, 'REVIEW']
    const remarks = (await this.#log(ended.id))
      .filter(({ result = '' }) => levels.includes(result))
      .map(({ result, src, msg, requirements = [] }) => `${result} ${src} [${requirements.join(', ')}]: ${msg}`)
    return { ...ended, remarks }
  }

  #log(id: string): Promise<readonly LogEntry[]> {
    return this.#call('GET', `log/${id}`)
  }

  async #call<Answer>(method: string, path: string, query: Names = {}, body?: string): Promise<Answer> {
    const url = new URL(`/api/${path}`, this.#suite)
    url.search = new URLSearchParams(query).toString()
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url, { method, headers, ...(body !== undefined && { body }) })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${url.pathname}: ${response.status} ${text}`)
    return JSON.parse(text) as Answer
  }
}
