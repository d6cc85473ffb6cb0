import { describe, expect, it } from 'vitest'
import { type Block, ChainError } from '../../src/chain/chain.ts'
import { EngineError } from './errors.ts'
import { deleteSecret } from './secret-sharing.ts'
import { commitmentOf } from './shares.ts'
import { upload } from './upload.ts'

const OWNER = `00${'aa'.repeat(20)}`
const CONTRACT = `00${'bb'.repeat(20)}`
const ENGINES = [1, 2].map((each) => ({ address: `00${`0${each}`.repeat(20)}`, endpoint: `https://${each}.example` }))
const SHARES = ENGINES.map((_, at) => new Uint8Array(32).fill(at))
const BLOCK_MS = 12_000
const PATIENCE_MS = 30_000

const word = (value: number | string): string =>
  (typeof value === 'string' ? value : value.toString(16)).padStart(64, '0')

/** Writes what the contract says of a sharing. */
function sharingAnswer(uploaded: boolean, deleting: boolean): Uint8Array {
  const commitments = SHARES.map((share) => Buffer.from(commitmentOf(share)).toString('hex'))
  const flags = ENGINES.map(() => word(Number(uploaded)))
  const head = [OWNER.slice(2), 2, 6 * 32, (6 + 1 + ENGINES.length) * 32, 0, Number(deleting)].map(word)
  const length = word(ENGINES.length)
  return Buffer.from([...head, length, ...commitments, length, ...flags].join(''), 'hex')
}

interface World {
  /** Whether every engine has told the contract of its share from the beginning. */
  readonly isUploaded?: boolean
  /** How many blocks the client waits for. */
  readonly confirmations?: number
  /** The time, in seconds, at which the contract shows by the newest block what the engines told it. */
  readonly toldSeconds: number
  /** How many blocks the engines wait for; undefined for engines whose blocks stand still, far behind. */
  readonly engineConfirmations?: number
  /** Whether the engines are out of reach. */
  readonly isAway?: boolean
}

/** Makes the sharing of a client whose chain makes a block each twelve seconds, and whose clock goes on as it waits. */
function sharingIn({ isUploaded = true, confirmations = 0, toldSeconds, engineConfirmations, isAway = false }: World) {
  let time = 0
  let isDeleting = false
  const number = (): number => 1000 + Math.floor(time / BLOCK_MS)
  const blockAt = (at: number): Block => ({ number: at, hash: '', time: new Date((at - 1000) * BLOCK_MS) })
  const chain = {
    ...{ id: '1', addresses: 'evm' as const, fetchContract: () => Promise.reject(new ChainError('not asked')) },
    fetchHead: () => Promise.resolve({ ...blockAt(number() - confirmations), newest: blockAt(number()) }),
    read: (_: unknown, __: unknown, block: Block) => {
      const isTold = block.time.getTime() >= toldSeconds * 1000
      return Promise.resolve(
        isDeleting && isTold ? new Uint8Array(32 * 10) : sharingAnswer(isUploaded || isTold, isDeleting),
      )
    },
  }
  const client = {
    ...{ chain, contract: CONTRACT, random: (length: number) => new Uint8Array(length), now: () => new Date(time) },
    wait: (ms: number) => {
      time += ms
      // All who wait share this clock, and take turns.
      return new Promise<void>((resolve) => setImmediate(resolve))
    },
    engines: () => Promise.resolve({ engines: ENGINES, block: blockAt(number()) }),
    call: (engine: (typeof ENGINES)[number], { method }: { method: string }) => {
      if (isAway) return Promise.reject(new EngineError(engine, 'unreachable'))
      const block = engineConfirmations === undefined ? 1 : number() - engineConfirmations
      const status = method === 'PUT' ? 201 : 401
      return Promise.resolve({ engine, status, headers: new Headers(), body: new Uint8Array(), block, signed: true })
    },
  }
  const transactor = {
    address: OWNER,
    send: () => {
      isDeleting = true
      return Promise.resolve()
    },
  }
  const context = { client, transactor, signer: { address: OWNER, authorize: () => Promise.resolve('') } }
  return { context: { ...context, patienceMs: PATIENCE_MS } as never, seconds: () => time / 1000 }
}

describe('a deletion', () => {
  it('is waited for while the blocks of engines come nearer that wait for confirmations', async () => {
    const { context } = sharingIn({ toldSeconds: 168, engineConfirmations: 12 })
    expect(await deleteSecret(context, 1n)).toEqual({ gone: true })
  })

  it('is waited for until the client sees what engines told the contract', async () => {
    const { context } = sharingIn({ toldSeconds: 24, engineConfirmations: 0, confirmations: 12 })
    expect(await deleteSecret(context, 1n)).toEqual({ gone: true })
  })

  it.each([
    ['stand still', {}],
    ['are away', { isAway: true }],
  ])('is given up by a patient owner of engines that %s', async (_, state) => {
    const { context, seconds } = sharingIn({ toldSeconds: 1000, ...state })
    expect(await deleteSecret(context, 1n)).toEqual({ gone: false })
    expect(seconds()).toBeLessThan(120)
  })
})

describe('an upload', () => {
  it('is complete when the client sees what engines told the contract, behind its own confirmations', async () => {
    const { context, seconds } = sharingIn({
      isUploaded: false,
      toldSeconds: 12,
      engineConfirmations: 0,
      confirmations: 12,
    })
    const prepared = {
      ...{ chain: '1', contract: CONTRACT, id: '1', threshold: 2, scheme: 'shamir' as const },
      engines: ENGINES.map(({ address }) => address),
      shares: SHARES.map((share) => Buffer.from(share).toString('hex')),
    }
    expect((await upload(context, prepared)).complete).toBe(true)
    expect(seconds()).toBeGreaterThan(150)
  })
})
