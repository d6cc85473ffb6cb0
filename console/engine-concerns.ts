/** The concerns of whoever operates engines: one that does not answer, sees nothing, or cannot run a component. */
import type { Concern } from './concerns.ts'
import type { ContractStatus, SeenEngine } from './engine-data.ts'

const UNWELL: ReadonlySet<ContractStatus['state']> = new Set(['failed', 'reconciling'])

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
