/** A wallet in memory, and a `fetch` in which one answer is not what it should be. */
import { randomBytes } from 'node:crypto'
import type { JsonObject } from '../../src/codec/json.ts'
import type { Step, TextStore, WalletContext, WalletStore } from '../../src/wallet/context.ts'
import { WalletError } from '../../src/wallet/error.ts'
import { createJwkHolderKeys } from '../../src/wallet/holder-key.ts'
import type { Clock } from './services.ts'

export interface TestWallet {
  readonly wallet: WalletContext
  /** The stored texts by id. */
  readonly texts: Map<string, string>
  readonly steps: Step[]
  /** The kept authorizations by name. */
  readonly authorizations: Map<string, string>
  /** Every request it sent: `POST https://…`, and the body. */
  readonly sent: { readonly to: string; readonly body: string }[]
}

export function testWallet(
  fetch: typeof globalThis.fetch,
  clock: Clock,
  more: Partial<WalletContext> = {},
): TestWallet {
  const texts = new Map<string, string>()
  const authorizations = new Map<string, string>()
  const steps: Step[] = []
  const sent: TestWallet['sent'] = []
  const wallet: WalletContext = {
    fetch: (input, init = {}) => {
      const url = input instanceof Request ? input.url : String(input)
      const { body } = init
      sent.push({
        to: `${init.method ?? 'GET'} ${url}`,
        body: body instanceof URLSearchParams ? body.toString() : typeof body === 'string' ? body : '',
      })
      return fetch(input, init)
    },
    now: () => clock.now,
    random: randomBytes,
    store: { ...memoryStore(texts), authorizations: memoryTexts(authorizations) },
    onStep: (step) => void steps.push(step),
    ...more,
  }
  return { wallet, texts, authorizations, steps, sent }
}

export function memoryStore(texts: Map<string, string>): WalletStore {
  return { keys: createJwkHolderKeys(randomBytes), ...memoryTexts(texts) }
}

function memoryTexts(texts: Map<string, string>): TextStore {
  return {
    list: () => Promise.resolve([...texts.keys()]),
    read: (name) => Promise.resolve(texts.get(name) ?? ''),
    write: (name, text) => Promise.resolve(void texts.set(name, text)),
    remove: (name) => Promise.resolve(void texts.delete(name)),
  }
}

/** Makes a `fetch` in which `answer` changes the answers of addresses that contain `path`. */
export function changing(
  fetch: typeof globalThis.fetch,
  path: string,
  answer: (response: Response, init: RequestInit) => Response | Promise<Response>,
): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const response = await fetch(input, init)
    return String(input instanceof Request ? input.url : input).includes(path) ? answer(response, init) : response
  }
}

/** Makes a function that returns the same answer with other members; one that is undefined is gone. */
export function withMembers(members: object): (response: Response) => Promise<Response> {
  return async (response) => Response.json({ ...((await response.json()) as JsonObject), ...members })
}

/** Returns the error of the wallet. */
export async function errorOf(promise: Promise<unknown>): Promise<WalletError> {
  const error = await promise.then(
    () => new Error('the wallet did not refuse'),
    (thrown: unknown) => thrown,
  )
  if (error instanceof WalletError) return error
  throw error as Error
}
