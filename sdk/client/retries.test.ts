import { describe, expect, it } from 'vitest'
import type { EngineRequest } from './call.ts'
import { EngineError } from './errors.ts'
import { askForFinalAnswer, askWhenReady } from './retries.ts'
import { keySigner, type RequestSigner, walletSigner } from './signers.ts'

const ENGINE = { address: `00${'aa'.repeat(20)}`, endpoint: '' }
const BLOCK_MS = 12_000
const PATIENCE_MS = 30_000

/** Asks an engine that accepts a request from block 100 on, and returns the status and how long that took. */
async function ask({
  first,
  block,
  blockMs = BLOCK_MS,
  ...more
}: Record<'first' | 'block', number> & { readonly blockMs?: number; readonly mostMs?: number }) {
  let time = 0
  const client = {
    now: () => new Date(time),
    wait: (ms: number) => {
      time += ms
      return Promise.resolve()
    },
    call: () => {
      const reached = first + Math.floor(time / blockMs)
      const status = reached < block ? 400 : 200
      return Promise.resolve({ engine: ENGINE, status, headers: {}, body: new Uint8Array(), block: reached })
    },
  }
  const terms = { block, patienceMs: PATIENCE_MS, ...more }
  const { status } = await askForFinalAnswer(client as never, ENGINE, {} as never, terms)
  return { status, seconds: Math.round(time / 1000) }
}

it('waits for an engine whose blocks come nearer, as one that waits for confirmations', async () => {
  expect(await ask({ first: 88, block: 100 })).toMatchObject({ status: 200, seconds: 145 })
})

it('waits no longer than it is patient for an engine that stands still', async () => {
  expect(await ask({ first: 88, block: 100, blockMs: Infinity })).toMatchObject({ status: 400, seconds: 31 })
})

it('waits a quarter of an hour at most for one whose blocks never come near', async () => {
  expect(await ask({ first: 0, block: 1_000_000 })).toMatchObject({ status: 400, seconds: 901 })
})

it('waits no longer than the caller says for one whose blocks never come near', async () => {
  expect(await ask({ first: 0, block: 1_000_000, mostMs: PATIENCE_MS })).toMatchObject({ status: 400, seconds: 31 })
})

describe('a request that a person signs', () => {
  const PROMPT_MS = 4000
  const NOT_READY = new EngineError(ENGINE, 'engine-refused', { status: 503, problem: 'starting' })
  type Reply = EngineError | { readonly status: number; readonly block: number }

  /** Makes a client of an engine that answers so at each time, and counts what the wallet is asked for. */
  function personalClient(replyAt: (time: number, isSigned: boolean) => Reply) {
    let time = 0
    let prompts = 0
    const sentRequests: { readonly method: string; readonly authorization: string | undefined }[] = []
    const provider = {
      request: () => {
        prompts += 1
        time += PROMPT_MS
        return Promise.resolve(`0x${String(prompts).padStart(130, '1')}`)
      },
    }
    const client = {
      now: () => new Date(time),
      wait: (ms: number) => {
        time += ms
        return Promise.resolve()
      },
      call: async (_: unknown, { method, signer }: EngineRequest) => {
        const recipient = {
          engine: ENGINE.address,
          contract: ENGINE.address,
          chain: { id: '1', addresses: 'evm' } as const,
        }
        const inputs = { now: new Date(time), random: (length: number) => new Uint8Array(length) }
        const data = { method, uri: '/', headers: [], body: new Uint8Array() }
        const authorization = await signer?.authorize(data, recipient, inputs)
        sentRequests.push({ method, authorization })
        const reply = replyAt(time, authorization !== undefined)
        if (reply instanceof EngineError) throw reply
        return { engine: ENGINE, headers: {}, body: new Uint8Array(), ...reply }
      },
    }
    const request = (signer: RequestSigner) => ({ method: 'PUT', path: '/shares/1', signer })
    return {
      ...{ client: client as never, sentRequests, wallet: walletSigner(provider, `0x${'33'.repeat(20)}`) },
      ...{ request, countPrompts: () => prompts, seconds: () => time / 1000 },
    }
  }

  it('is shown once, when the engine has reached the block', async () => {
    const { client, wallet, request, countPrompts, sentRequests } = personalClient((time) => {
      const block = 100 + Math.floor(time / BLOCK_MS)
      return { status: block >= 113 ? 201 : 404, block }
    })
    const terms = { block: 113, patienceMs: PATIENCE_MS }
    expect((await askForFinalAnswer(client, ENGINE, request(wallet), terms)).status).toBe(201)
    expect(countPrompts()).toBe(1)
    expect(sentRequests.at(-1)?.method).toBe('PUT')
    expect(new Set(sentRequests.slice(0, -1).map((sent) => `${sent.method} ${sent.authorization}`))).toEqual(
      new Set(['GET undefined']),
    )
  })

  it('is shown all the same where an engine does not reach the block in time', async () => {
    const { client, wallet, request, countPrompts, seconds } = personalClient(() => ({ status: 404, block: 100 }))
    const terms = { block: 113, patienceMs: 3000 }
    expect((await askForFinalAnswer(client, ENGINE, request(wallet), terms)).status).toBe(404)
    expect([countPrompts(), seconds() < 30]).toEqual([1, true])
  })

  it('is shown where the component fails at what nobody signed, and not where no engine answers', async () => {
    const trap = new EngineError(ENGINE, 'engine-refused', { status: 500, problem: 'component-trap' })
    const failing = personalClient((_, isSigned) => (isSigned ? { status: 201, block: 113 } : trap))
    const terms = { block: 113, patienceMs: PATIENCE_MS }
    const { status } = await askForFinalAnswer(failing.client, ENGINE, failing.request(failing.wallet), terms)
    expect([status, failing.countPrompts()]).toEqual([201, 1])
    const absent = personalClient(() => new EngineError(ENGINE, 'unreachable'))
    const answer = askForFinalAnswer(absent.client, ENGINE, absent.request(absent.wallet), terms)
    await expect(answer).rejects.toMatchObject({ code: 'unreachable' })
    expect(absent.countPrompts()).toBe(0)
  })

  it('keeps its signature while the engine says that it did nothing, until shortly before that ends', async () => {
    const { client, wallet, request, countPrompts, sentRequests, seconds } = personalClient((time) =>
      time < 150_000 ? NOT_READY : { status: 200, block: 1 },
    )
    await askWhenReady(client, ENGINE, request(wallet), { patienceMs: 200_000 })
    expect([countPrompts(), new Set(sentRequests.map(({ authorization }) => authorization)).size]).toEqual([2, 2])
    expect(seconds()).toBeLessThan(170)
  })

  it('is signed anew where the engine may have looked at it', async () => {
    let failures = 2
    const { client, wallet, request, countPrompts } = personalClient((_, isSigned) =>
      isSigned && failures-- > 0 ? new EngineError(ENGINE, 'deadline') : { status: 201, block: 5 },
    )
    await askForFinalAnswer(client, ENGINE, request(wallet), { block: 5, patienceMs: PATIENCE_MS })
    expect(countPrompts()).toBe(3)
  })

  it('is not waited for where a key signs', async () => {
    const { client, request, sentRequests } = personalClient(() => ({ status: 201, block: 5 }))
    const signer = keySigner(new Uint8Array(32).fill(1), 'evm')
    await askForFinalAnswer(client, ENGINE, request(signer), { block: 5, patienceMs: PATIENCE_MS })
    expect(sentRequests.map(({ method }) => method)).toEqual(['PUT'])
  })
})
