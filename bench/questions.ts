/** The questions of the benchmark that need a workplace, each with the numbers that it has by itself. */
import { measureBuilds } from './builds.ts'
import { measureCallbacks } from './callbacks.ts'
import { measureCodeFlow } from './code-flow.ts'
import { measureDatabase } from './database.ts'
import { measureInstall } from './install.ts'
import { measureIssuing } from './issuing.ts'
import type { Kind } from './kinds.ts'
import { measureMemory } from './memory.ts'
import { measureParts } from './parts.ts'
import { profile } from './profile.ts'
import { note, type Verdict } from './report.ts'
import { measureRequests } from './requests.ts'
import { measureScale } from './scale.ts'
import { measureStatus } from './serving-status.ts'
import { measureSoak } from './soak.ts'
import { measureSpeed } from './speed.ts'
import { measureStartup } from './startup.ts'
import { measureStatements } from './statements.ts'
import { measureManyLists } from './status-lists.ts'
import { measureWorkers } from './workers.ts'
import type { Workplace } from './workplace.ts'

/** The choices that the words of the command make; a number is undefined where they have none. */
export interface Choices {
  readonly bundle: string
  readonly kinds: readonly Kind[]
  readonly rounds: number | undefined
  readonly flows: number | undefined
  readonly warmUp: number | undefined
  readonly minutes: number
  readonly workers: number
  readonly share: number
  /** The bundle of an earlier build. */
  readonly beside: string | undefined
}

type Measure = (workplace: Workplace, choices: Choices) => Promise<Verdict | undefined>

export const questions: Readonly<Record<string, Measure>> = {
  flows: (workplace, choices) => measureSpeed(workplace, { ...numbersOf(choices), kinds: choices.kinds }),
  builds: (workplace, choices) => {
    const { kinds, beside } = choices
    if (beside === undefined) throw new Error('say by --beside FILE which earlier build to compare with')
    return measureBuilds(workplace, { ...numbersOf(choices, { rounds: 24, flows: 400, warmUp: 3000 }), kinds, beside })
  },
  issuing: (workplace, choices) => measureIssuing(workplace, numbersOf(choices)),
  status: measureStatus,
  'status-lists': measureManyLists,
  'code-flow': (workplace, choices) => measureCodeFlow(workplace, numbersOf(choices)),
  callbacks: (workplace, choices) => measureCallbacks(workplace, { ...numbersOf(choices), bundle: choices.bundle }),
  memory: measureMemory,
  startup: measureStartup,
  install: () => Promise.resolve(measureInstall(process.cwd())),
  database: measureDatabase,
  scale: (workplace, choices) => measureScale(workplace, numbersOf(choices, { rounds: 15, flows: 3000 })),
  requests: (workplace, choices) =>
    measureRequests(workplace, { ...numbersOf(choices, { flows: 3000, warmUp: 6000 }), kinds: choices.kinds }),
  parts: (workplace, { kinds }) => measureParts(workplace, kinds),
  statements: (_, { bundle }) => measureStatements(bundle),
  workers: (workplace, choices) => {
    const { workers, share } = choices
    return measureWorkers(workplace, { ...numbersOf(choices, { rounds: 8, flows: 800, warmUp: 6000 }), workers, share })
  },
  soak: (workplace, { minutes }) => measureSoak(workplace, minutes),
  profile: async (workplace, { kinds }) => {
    await profile(workplace, kinds)
    return undefined
  },
}

/** The questions that `all` asks. */
export const inAll = ['flows', 'issuing', 'status', 'callbacks', 'memory', 'startup', 'install'] as const

/** Asks a question; undefined where it has no figures to keep. */
export async function ask(question: string, workplace: Workplace, choices: Choices): Promise<Verdict | undefined> {
  note(`${question}, on Node ${process.version}`)
  return questions[question]?.(workplace, choices)
}

function numbersOf(
  { rounds, flows, warmUp }: Choices,
  own: { readonly rounds?: number; readonly flows?: number; readonly warmUp?: number } = {},
) {
  return { rounds: rounds ?? own.rounds ?? 5, flows: flows ?? own.flows ?? 2000, warmUp: warmUp ?? own.warmUp ?? 1000 }
}
