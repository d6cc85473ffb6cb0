import type { FrostPublic } from '@noble/curves/abstract/frost.js'
import { ed25519, ed25519_FROST as frost } from '@noble/curves/ed25519.js'
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
