/** Engines as the console asks them: what everybody may know, and with an API key the calls of a contract. */
import type { ShownEngine } from './clients.ts'

export interface EngineStatus {
  readonly address: string
  readonly chain: { readonly id: string }
  readonly block: { readonly number: number; readonly time: string } | null
  readonly stale: boolean
  readonly contracts: readonly ContractStatus[]
  /** The address after which the next page of contracts begins. */
  readonly next?: string
}

export interface ContractStatus {
  readonly address: string
  readonly state: 'served' | 'starting' | 'reconciling' | 'failed' | 'not-this-engine'
  readonly component: string | null
  readonly hooks: readonly string[]
  readonly why?: string
  readonly state_change: 'done' | 'pending' | 'dead'
  readonly state_change_problem?: { readonly why: string; readonly attempts: number; readonly again: string | null }
}

export interface ContractDetails extends ContractStatus {
  readonly component_uri: string | null
  readonly engines: readonly { readonly address: string; readonly endpoint: string }[] | null
  readonly storage_bytes: number
  readonly transactions: { readonly waiting: number; readonly today: number }
  readonly timers: readonly { readonly id: number; readonly status: string }[]
  readonly waiting_calls: number
  readonly calls: readonly EngineCall[]
}

export interface EngineCall {
  readonly at: string
  readonly hook: 'http' | 'state-change' | 'timer' | 'engines'
  readonly asked?: string
  readonly request?: string
  readonly outcome: string
  readonly status?: number
  readonly milliseconds: number
  readonly why?: string
  readonly log: readonly string[]
}

/** An engine as it answered, or why it did not. */
export type SeenEngine =
  | { readonly engine: ShownEngine; readonly status: EngineStatus }
  | { readonly engine: ShownEngine; readonly problem: string }

/** The most pages of contracts that are read of an engine, whose chain may have any number of contracts. */
const MAX_PAGES = 20

/** Asks all engines at once. */
export function askEngines(engines: readonly ShownEngine[]): Promise<readonly SeenEngine[]> {
  return Promise.all(
    engines.map(async (engine, at) => {
      try {
        return { engine, status: await readStatus(at) }
      } catch (error) {
        return { engine, problem: (error as Error).message }
      }
    }),
  )
}

async function readStatus(at: number): Promise<EngineStatus> {
  const first = (await readFrom(at, '/engine')) as EngineStatus
  const contracts = [...first.contracts]
  let { next } = first
  for (let page = 2; next !== undefined && page <= MAX_PAGES; page += 1) {
    const status = (await readFrom(at, `/engine?after=${encodeURIComponent(next)}`)) as EngineStatus
    contracts.push(...status.contracts)
    next = status.next
  }
  return { ...first, contracts }
}

/** Reads what the operator of an engine may know of a contract. Rejects with what the engine says against it. */
export async function readContract(at: number, contract: string): Promise<ContractDetails> {
  return (await readFrom(at, `/engine/contracts/${encodeURIComponent(contract)}`)) as ContractDetails
}

async function readFrom(at: number, path: string): Promise<unknown> {
  const response = await fetch(`api/engine/${at}${path}`)
  const value = (await response.json()) as { readonly detail?: string; readonly error_description?: string }
  if (response.ok) return value
  throw new Error(value.detail ?? value.error_description ?? `the engine answered with status ${response.status}`)
}
