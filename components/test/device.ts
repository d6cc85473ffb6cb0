/**
 * An engine as small as a test needs it, with one contract, one component and storage in memory, which does what a call
 * asks for.
 */
import { randomUUID } from 'node:crypto'
import type { ComponentCall, Hook, Host, RunOutcome } from '../../src/component/runtime.ts'
import type { DeployedContract, Party } from './evm.ts'

/** The host of a device, whose storage needs no waiting. */
export interface DeviceHost extends Host {
  readonly readStored: (bucket: Uint8Array, key: Uint8Array) => Uint8Array | undefined
}

export type Run = (call: Omit<ComponentCall, 'component'>, host: DeviceHost, seed: string) => Promise<RunOutcome>

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly text: string
}

export interface Device {
  readonly party: Party
  /** The stored values by bucket and key: text, a slash, hexadecimal. */
  readonly storage: Map<string, Uint8Array>
  /** The timers that are set, and in how many milliseconds. */
  readonly timers: Map<number, number>
  /** The transactions that the contract refused, and why. */
  readonly failed: string[]
  readonly sent: Uint8Array[]
  /** When true, transactions are lost on their way. */
  offline: boolean
  /** The milliseconds that are added to the clock. */
  ahead: number
  /** The milliseconds by which the block that it reads is behind its clock. */
  lagMs: number
  /** The generation of its engine's storage. */
  generation: string
  readonly http: (method: string, uri: string, options?: { body?: Uint8Array | string; as?: Party }) => Promise<Answer>
  readonly stateChange: () => Promise<void>
  readonly timer: (id: number) => Promise<void>
}

export function device(run: Run, contract: DeployedContract, party: Party, authorize = unsigned): Device {
  const self: Device = {
    party,
    storage: new Map(),
    timers: new Map(),
    failed: [],
    sent: [],
    offline: false,
    ahead: 0,
    lagMs: 0,
    generation: 'first',
    http: async (method, uri, { body = '', as } = {}) => {
      const content = typeof body === 'string' ? new TextEncoder().encode(body) : body
      const request = { method, uri, body: content, headers: [] }
      const now = new Date(Date.now() + self.ahead)
      const recipient = { engine: party.address, contract: contract.address }
      const headers = as ? authorize({ ...request, ...recipient, from: as, now }) : []
      const outcome = await call({ kind: 'http', request: { ...request, headers } })
      if (!outcome.response) throw new Error('the component gave no response')
      const { status, headers: list, body: answer } = outcome.response
      const headersByName = Object.fromEntries(list.map(({ name, values }) => [name, values.join(', ')]))
      return { status, headers: headersByName, body: answer, text: new TextDecoder().decode(answer) }
    },
    stateChange: async () => {
      await call({ kind: 'state-change' })
    },
    timer: async (id) => {
      self.timers.delete(id)
      await call({ kind: 'timer', id, payload: new Uint8Array() })
    },
  }
  const call = async (hook: Hook): Promise<Extract<RunOutcome, { kind: 'done' }>> => {
    const outcome = await run(await callOf(hook, contract, self), hostOf(contract, self), randomUUID())
    if (outcome.kind !== 'done') throw new Error('message' in outcome ? outcome.message : outcome.kind)
    await apply(outcome, contract, self)
    return outcome
  }
  return self
}

export interface Signing {
  readonly method: string
  readonly uri: string
  readonly body: Uint8Array
  readonly from: Party
  readonly engine: string
  readonly contract: string
  readonly now: Date
}

/** Makes the authorization for components that run without their sandbox, which nobody checks. */
function unsigned({ from }: Signing): readonly { name: string; values: string[] }[] {
  return [
    { name: 'x-signer', values: [`00${from.address.slice(2)}`] },
    { name: 'authorization', values: ['offchain-v2 unchecked'] },
  ]
}

async function callOf(hook: Hook, contract: DeployedContract, self: Device): Promise<Omit<ComponentCall, 'component'>> {
  const { rpc, address } = contract
  const { number } = (await rpc('eth_getBlockByNumber', ['latest', false])) as { number: string }
  const time = Date.now() + self.ahead
  return {
    hook,
    contract: `00${address.slice(2).toLowerCase()}`,
    engine: `00${self.party.address.slice(2)}`,
    chain: { id: String(Number(await rpc('eth_chainId', []))), addresses: 'evm' },
    block: { number: Number(number), time: new Date(time - self.lagMs) },
    state: new Uint8Array(),
    now: new Date(time),
    deadlineMs: 30_000,
  }
}

function hostOf(contract: DeployedContract, self: Device): DeviceHost {
  const readStored: DeviceHost['readStored'] = (bucket, key) => self.storage.get(nameOf(bucket, key))
  return {
    readStored,
    load: (bucket, key) => Promise.resolve(readStored(bucket, key)),
    readContract: (input) => contract.askRaw(input),
    send: () => Promise.reject(new Error('nothing is called out here')),
    getConfiguration: () => undefined,
    getGeneration: () => Promise.resolve(self.generation),
    listTimers: () => Promise.resolve([]),
    isSpent: () => Promise.resolve(false),
  }
}

async function apply({ effects }: Extract<RunOutcome, { kind: 'done' }>, contract: DeployedContract, self: Device) {
  for (const { bucket, key, value } of effects.storage) {
    if (value) self.storage.set(nameOf(bucket, key), value)
    else self.storage.delete(nameOf(bucket, key))
  }
  for (const timer of effects.timers) {
    if ('cancel' in timer) self.timers.delete(timer.id)
    else self.timers.set(timer.id, timer.delayMs)
  }
  for (const { payload } of effects.transactions) {
    self.sent.push(payload)
    if (self.offline) continue
    await contract.sendRaw(self.party, payload).catch((error: unknown) => self.failed.push(String(error)))
  }
}

function nameOf(bucket: Uint8Array, key: Uint8Array): string {
  return `${Buffer.from(bucket).toString()}/${Buffer.from(key).toString('hex')}`
}
