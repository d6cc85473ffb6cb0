/**
 * A component run in the form in which it is written, a few functions, without its sandbox: quick, and good for
 * stepping through. A question to the chain is answered in the second try: the call begins again whenever an answer is
 * missing, with the same random numbers.
 */
import { createHash } from 'node:crypto'
import type { Context, Key, Request, Response } from '../../sdk/component/index.ts'
import { type ComponentCall, DEFAULT_LIMITS, type RunOutcome, type StorageChange } from '../../src/component/runtime.ts'
import { type HttpRequestData, headerValue } from '../../src/offchain/http-data.ts'
import { toHex } from '../bytes.ts'
import type { DeviceHost, Run } from './device.ts'

export interface Guest {
  http?(request: Request, context: Context): Response
  stateChange?(context: Context): void
  readonly timers?: Readonly<Record<number, (payload: Uint8Array, context: Context) => void>>
}

class Missing extends Error {
  override readonly name = 'Missing'
  readonly answer: () => Promise<unknown>
  constructor(answer: () => Promise<unknown>) {
    super('asked of the host')
    this.answer = answer
  }
}

/** Runs like {@link Runtime.run}, for a guest that is no bytes. */
export function inProcess(guest: Guest): Run {
  return async (call, host, seed) => {
    const answers = new Map<string, unknown>()
    for (;;) {
      try {
        return once(guest, call, host, seed, answers)
      } catch (error) {
        if (!(error instanceof Missing)) return { kind: 'trap', message: String(error), log: [] }
        await error.answer()
      }
    }
  }
}

function once(
  guest: Guest,
  call: Omit<ComponentCall, 'component'>,
  host: DeviceHost,
  seed: string,
  answers: Map<string, unknown>,
): RunOutcome {
  const effects = emptyEffects()
  const context = contextOf(call, host, seed, answers, effects)
  const { hook } = call
  if (hook.kind === 'state-change') guest.stateChange?.(context)
  if (hook.kind === 'timer') guest.timers?.[hook.id]?.(hook.payload, context)
  const answered = hook.kind === 'http' ? guest.http?.(requestOf(hook.request), context) : undefined
  const response = answered && {
    status: answered.status,
    headers: Object.entries(answered.headers ?? {}).map(([name, value]) => ({ name, values: [value] })),
    body:
      typeof answered.body === 'string' ? new TextEncoder().encode(answered.body) : (answered.body ?? new Uint8Array()),
  }
  const changedValues = new Set(effects.storage.map(({ bucket, key }) => `${toHex(bucket)} ${toHex(key)}`))
  if (changedValues.size > DEFAULT_LIMITS.storageChanges)
    return { kind: 'trap', message: 'it changes too many values', log: [] }
  return { kind: 'done', response, result: new Uint8Array(), effects }
}

interface Growing {
  readonly storage: StorageChange[]
  readonly transactions: { payload: Uint8Array; gas: bigint }[]
  readonly timers: { id: number; delayMs: number; payload: Uint8Array }[]
  readonly spentRequests: never[]
  readonly signers: never[]
  readonly log: string[]
  readonly reads: number
}

function emptyEffects(): Growing {
  return { storage: [], transactions: [], timers: [], spentRequests: [], signers: [], log: [], reads: 0 }
}

function contextOf(
  call: Omit<ComponentCall, 'component'>,
  host: DeviceHost,
  seed: string,
  answers: Map<string, unknown>,
  effects: Growing,
): Context {
  const ask = <T>(name: string, answer: () => Promise<T>): T => {
    if (answers.has(name)) return answers.get(name) as T
    throw new Missing(async () => answers.set(name, await answer()))
  }
  let drawn = 0
  return {
    contract: call.contract,
    engine: call.engine,
    chainId: call.chain.id,
    block: call.block,
    storage: (name) => {
      const bucket = toBytes(name)
      const change = (key: Key, value: Key | undefined): void =>
        void effects.storage.push({ bucket, key: toBytes(key), value: value === undefined ? value : toBytes(value) })
      return {
        get: (key) => {
          const changed = effects.storage.findLast((one) => same(one.bucket, bucket) && same(one.key, toBytes(key)))
          return changed ? changed.value : host.readStored(bucket, toBytes(key))
        },
        set: change,
        delete: (key) => change(key, undefined),
      }
    },
    transact: (payload, { gas = 0n } = {}) => void effects.transactions.push({ payload, gas }),
    read: (input) => ask(`read ${Buffer.from(input).toString('hex')}`, () => host.readContract(input)),
    random: (length) => {
      drawn++
      const blocks = Array.from({ length: Math.ceil(length / 32) }, (_, at) =>
        createHash('sha256').update(`${seed} ${drawn} ${at}`).digest(),
      )
      return new Uint8Array(Buffer.concat(blocks).subarray(0, length))
    },
    now: () => call.now,
    generation: () => ask('generation', () => host.getGeneration()),
    timers: {
      schedule: (id, delayMs, payload = new Uint8Array()) => void effects.timers.push({ id, delayMs, payload }),
      cancel: unsupported,
      status: unsupported,
      list: unsupported,
    },
    fetch: unsupported,
    config: unsupported,
    authenticate: (addresses) => {
      const signer = call.hook.kind === 'http' ? headerValue(call.hook.request, 'x-signer') : undefined
      return addresses.find((address) => address === signer)
    },
    log: (text) => void effects.log.push(text),
  }
}

function requestOf(request: HttpRequestData): Request {
  const text = (): string => new TextDecoder().decode(request.body)
  const { method, uri, body } = request
  const path = uri.split('?', 1)[0] ?? ''
  const json = (): unknown => JSON.parse(text())
  const bodyDigest = (): Uint8Array => new Uint8Array(createHash('sha256').update(body).digest())
  return { method, uri, path, query: {}, header: (name) => headerValue(request, name), body, bodyDigest, text, json }
}

function unsupported(): never {
  throw new Error('that is for the sandbox')
}

function toBytes(text: Key): Uint8Array {
  return typeof text === 'string' ? new TextEncoder().encode(text) : text
}

function same(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0
}
