/** The concerns of whoever operates services and engines: what is not well, or will soon not be. */
import type { IssuerSchemas, VerifierSchemas } from '../sdk/server/index.ts'
import type { ContractStatus, SeenEngine } from './engine-data.ts'

export type Overview = IssuerSchemas['IssuerOverview'] | VerifierSchemas['VerifierOverview']

export interface Concern {
  readonly text: string
  /** `bad` stops something now; `warning` will, or may be meant. */
  readonly look: 'bad' | 'warning'
  /** The page that has more of it, or what to do. */
  readonly page?: 'callbacks' | 'trust' | 'engines'
}

const DAY = 86_400
/** The days before an end from which somebody should look at it. */
export const SOON_DAYS = 30
/** The time after which somebody should look at an event that waits. */
const LONG_WAIT = 3600

/** The states in which an engine cannot serve a contract. */
const UNWELL: ReadonlySet<ContractStatus['state']> = new Set(['failed', 'reconciling'])

/** Returns the whole days from `now` until `time`; negative once it is over. */
export function daysUntil(time: number, now: number): number {
  return Math.floor((time - now) / DAY)
}

/** Returns a number of days in words. */
export function daysText(days: number): string {
  if (days < 0) return 'ended'
  if (days === 0) return 'within a day'
  return days === 1 ? 'in 1 day' : `in ${days} days`
}

/** Finds the concerns, the pressing ones first. */
export function findConcerns(name: string, overview: Overview): readonly Concern[] {
  const { at, ready, certificates } = overview
  const all: Concern[] = [
    ...(ready ? [] : [{ look: 'bad', text: `The ${name} is not ready: its database takes no writes.` } as const]),
    ...certificates.flatMap(({ key, subject, not_after: end }) =>
      endConcern(`The certificate of the ${name}'s ${key} (${subject})`, end, at, 'renew it'),
    ),
    ...callbackConcerns(name, overview),
    ...('status_lists' in overview ? [] : anchorConcerns(overview)),
  ]
  return all.toSorted((one, other) => Number(one.look === 'warning') - Number(other.look === 'warning'))
}

function endConcern(what: string, end: number, now: number, advice: string): readonly Concern[] {
  const days = daysUntil(end, now)
  if (days >= SOON_DAYS) return []
  if (days < 0) return [{ look: 'bad', text: `${what} has ended: ${advice}.` }]
  return [{ look: 'warning', text: `${what} ends ${daysText(days)}: ${advice}.` }]
}

function anchorConcerns({ at, trust_anchors: anchors }: VerifierSchemas['VerifierOverview']): readonly Concern[] {
  if (anchors === undefined) {
    const text = 'The verifier has no trust anchors: anybody may have issued what is presented.'
    return [{ look: 'warning', text, page: 'trust' }]
  }
  return anchors.ending_first.flatMap(({ subject, not_after: end }) =>
    endConcern(`The trust anchor ${subject}`, end, at, 'ask its issuer for the next one').map((concern) => ({
      ...concern,
      page: 'trust' as const,
    })),
  )
}

function callbackConcerns(name: string, { at, callbacks }: Overview): readonly Concern[] {
  const { dead, waiting, oldest_waiting_at: oldest = at, last_problem: problem } = callbacks
  const page = 'callbacks'
  const why = problem === undefined ? '' : `; the last delivery failed: ${problem}`
  return [
    ...(dead === 0
      ? []
      : [{ look: 'bad', page, text: `Events of the ${name} that were given up: ${countText(dead)}.` } as const]),
    ...(at - oldest < LONG_WAIT
      ? []
      : [
          {
            look: 'warning',
            page,
            text: `Sessions of the ${name} whose events wait, since an hour or longer: ${countText(waiting)}${why}.`,
          } as const,
        ]),
  ]
}

/** Returns a count as a text; the services count no further than to a thousand. */
export function countText(count: number): string {
  return count >= 1000 ? '1000 or more' : String(count)
}

/** Tests whether the engine answers, and sees its chain. */
export function isEngineWell(answer: SeenEngine): boolean {
  return 'status' in answer && !answer.status.stale
}

/** Finds what is not well at an engine. */
export function findEngineConcerns(answer: SeenEngine): readonly Concern[] {
  const page = 'engines'
  const where = `The engine ${answer.engine.url}`
  if ('problem' in answer) return [{ look: 'bad', page, text: `${where} does not answer: ${answer.problem}` }]
  const { stale, contracts } = answer.status
  const unwell = contracts.filter(({ state }) => UNWELL.has(state)).length
  const dead = contracts.filter(({ state_change: change }) => change === 'dead').length
  return [
    ...(stale
      ? [{ look: 'bad', page, text: `${where} sees nothing new of its chain, and refuses requests.` } as const]
      : []),
    ...(unwell === 0
      ? []
      : [{ look: 'bad', page, text: `${where} cannot serve some of its contracts now: ${unwell}.` } as const]),
    ...(dead === 0
      ? []
      : [{ look: 'warning', page, text: `${where} has given up state change hooks of contracts: ${dead}.` } as const]),
  ]
}
