import { randomBytes } from 'node:crypto'
import type { FrostPublic, NonceCommitments, Nonces } from '@noble/curves/abstract/frost.js'
import { ed25519, ed25519_FROST as frost } from '@noble/curves/ed25519.js'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { describe, expect, it } from 'vitest'
import { type SigningEngine, SigningError, signTogether } from './key-management.ts'

const key: FrostPublic = { signers: { min: 2, max: 2 }, commitments: [], verifyingShares: {} }
const point = ed25519.Point.BASE.toHex()
/** Gives commitments as it should, and then this. */
const engine = (index: number, body: string, status = 200): SigningEngine => ({
  index,
  name: `engine ${index + 1}`,
  post: (path) => {
    const commitments = { identifier: frost.Identifier.fromNumber(index + 1), hiding: point, binding: point }
    const isFirst = path.endsWith('/commitments')
    return Promise.resolve({ status: isFirst ? 200 : status, body: isFirst ? JSON.stringify(commitments) : body })
  },
})
const refused = async (...engines: SigningEngine[]): Promise<SigningError> => {
  const error: unknown = await signTogether(1n, Uint8Array.of(1), key, engines).catch((reason: unknown) => reason)
  if (!(error instanceof SigningError)) throw error
  return error
}

describe('an engine that means harm', () => {
  it.each(['null', '7', '[]', '{"share":null}', 'not JSON'])(
    'is named when it answers %s for a share',
    async (body) => {
      const { faults } = await refused(engine(0, body), engine(1, body))
      expect(faults.map((fault) => fault.engine)).toEqual(['engine 1', 'engine 2'])
    },
  )

  it.each([200, 400])('writes nothing to a terminal (%s)', async (status) => {
    const error = await refused(engine(0, '\u001b[2Jgone\u202e', status), engine(1, '{}'))
    expect(error.message).not.toMatch(/[^ -~]/)
  })

  it('writes nothing to a terminal by the name that the contract has for it', async () => {
    const named = { ...engine(0, '{}'), name: 'https://one.example/\u001b[2J\u009b2J\u202e' }
    const { faults, message } = await refused(named, engine(1, '{}'))
    expect(faults[0]?.engine).toBe('https://one.example/?[2J?2J?')
    expect(message).not.toMatch(/[^ -~]/)
  })
})

describe('an engine that refuses', () => {
  it.each([
    [403, '{"error":"not before noon"}', 'its component refused (403): not before noon'],
    [503, '{"title":"Busy","detail":"too many"}', 'its component refused (503): too many'],
    [400, 'no JSON\n', 'its component refused (400): no JSON?'],
    [500, '', 'its component refused (500)'],
    [403, `{"error":"${'x'.repeat(1000)}"}`, `its component refused (403): ${'x'.repeat(200)}`],
  ])('is quoted: %i %s', async (status, body, why) => {
    const { faults, message } = await refused(engine(0, body, status), engine(1, body, status))
    expect(faults[0]).toEqual({ engine: 'engine 1', why })
    expect(message).toContain(`engine 1: ${why}`)
  })
})

const random = (length = 32): Uint8Array<ArrayBuffer> => new Uint8Array(randomBytes(length))
const unhex = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(hexToBytes(text))

type Dealt = ReturnType<typeof frost.trustedDealer>

/** Returns an engine that signs as its component does. */
function signingEngine({ secretShares, public: key }: Dealt, index: number): SigningEngine {
  const identifier = frost.Identifier.fromNumber(index + 1)
  const secret = secretShares[identifier] ?? expect.unreachable()
  const waiting = new Map<string, Nonces>()
  const commit = (): object => {
    const { nonces, commitments } = frost.commit(secret, random)
    waiting.set(bytesToHex(commitments.hiding), nonces)
    return { identifier, hiding: bytesToHex(commitments.hiding), binding: bytesToHex(commitments.binding) }
  }
  const sign = (body: string): { status: number; body: string } => {
    const { message: text, commitments } = JSON.parse(body) as {
      message: string
      commitments: Record<'identifier' | 'hiding' | 'binding', string>[]
    }
    const list: NonceCommitments[] = commitments.map((each) => ({
      identifier: each.identifier,
      hiding: unhex(each.hiding),
      binding: unhex(each.binding),
    }))
    const own = commitments.find((each) => each.identifier === identifier)?.hiding ?? ''
    const nonces = waiting.get(own)
    waiting.delete(own)
    if (nonces === undefined) return { status: 409, body: '{"error":"Unknown, used or expired commitments"}' }
    try {
      const share = frost.signShare(secret, key, nonces, list, unhex(text))
      return { status: 200, body: JSON.stringify({ identifier, share: bytesToHex(share) }) }
    } catch {
      return { status: 400, body: '{"error":"Malformed request"}' }
    }
  }
  const post: SigningEngine['post'] = (path, body) =>
    Promise.resolve(path.endsWith('/commitments') ? { status: 200, body: JSON.stringify(commit()) } : sign(body))
  return { index, name: `engine ${index + 1}`, post }
}

describe('commitments that are no elements of the group', () => {
  const torsion = ed25519.Point.fromHex('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05')

  it.each([
    ['the identity', ed25519.Point.ZERO.toHex()],
    ['a point of order 2', 'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f'],
    ['a point with a part of small order', ed25519.Point.BASE.add(torsion).toHex()],
  ])('are the fault of the engine that sent them: %s', async (_, hiding) => {
    const dealt = frost.trustedDealer({ min: 2, max: 3 })
    const [first, second, third] = [0, 1, 2].map((index) => signingEngine(dealt, index)) as [
      SigningEngine,
      SigningEngine,
      SigningEngine,
    ]
    const bad: SigningEngine = {
      ...first,
      post: async (path, body) => {
        const answer = await first.post(path, body)
        return { ...answer, body: JSON.stringify({ ...(JSON.parse(answer.body) as object), hiding }) }
      },
    }
    const message = Uint8Array.of(1, 2, 3)
    const { signature, faults } = await signTogether(1n, message, dealt.public, [bad, second, third])
    expect(faults.map((fault) => fault.engine)).toEqual(['engine 1'])
    expect(ed25519.verify(signature, message, dealt.public.commitments[0] ?? expect.unreachable())).toBe(true)
  })
})

describe('an answer that is lost on its way', () => {
  const message = Uint8Array.of(1, 2, 3)
  /** Returns the engine without the answers to its first requests for a share, and counts these requests. */
  const losing = (engine: SigningEngine, lost: number) => {
    const asked = { shares: 0 }
    const post: SigningEngine['post'] = async (path, body) => {
      const answer = await engine.post(path, body)
      if (path.endsWith('/signature-shares') && ++asked.shares <= lost) throw new Error('the connection broke')
      return answer
    }
    return { engine: { ...engine, post }, asked }
  }
  const deal = (min: number, max: number) => {
    const dealt = frost.trustedDealer({ min, max })
    const engines = Array.from({ length: max }, (_, index) => signingEngine(dealt, index))
    return { dealt, engines, first: engines[0] ?? expect.unreachable() }
  }

  it('is asked for anew where the engine is needed: it has no fault', async () => {
    const { dealt, engines, first } = deal(2, 2)
    const { engine } = losing(first, 1)
    const { signature, faults } = await signTogether(1n, message, dealt.public, engines.with(0, engine))
    expect(faults).toEqual([])
    expect(ed25519.verify(signature, message, dealt.public.commitments[0] ?? expect.unreachable())).toBe(true)
  })

  it('is not asked for where others can sign, and the engine is named', async () => {
    const { dealt, engines, first } = deal(2, 3)
    const { engine, asked } = losing(first, 1)
    const { faults } = await signTogether(1n, message, dealt.public, engines.with(0, engine))
    expect(faults).toEqual([{ engine: 'engine 1', why: 'it could not be asked: the connection broke' }])
    expect(asked.shares).toBe(1)
  })

  it('is asked for once more at most', async () => {
    const { dealt, engines, first } = deal(2, 2)
    const { engine, asked } = losing(first, 9)
    const signing = signTogether(1n, message, dealt.public, engines.with(0, engine))
    await expect(signing).rejects.toMatchObject({ faults: [{ engine: 'engine 1' }] })
    expect(asked.shares).toBe(2)
  })
})
