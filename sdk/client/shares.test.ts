import fc from 'fast-check'
import { combine, split } from 'shamir-secret-sharing'
import { describe, expect, it } from 'vitest'
import { ClientError } from './errors.ts'
import { combineShares, MAX_SECRET_BYTES, splitSecret } from './shares.ts'

/** Draws from WebCrypto, as docs/engine.md does it, which gives 65,536 bytes at once and no more. */
const random = (bytes: number): Uint8Array => crypto.getRandomValues(new Uint8Array(bytes))
const code = (error: unknown) => (error instanceof ClientError ? error.code : error)
const secrets = fc.uint8Array({ maxLength: 100 })
const sizes = fc
  .integer({ min: 2, max: 6 })
  .chain((shares) => fc.tuple(fc.constant(shares), fc.integer({ min: 2, max: shares })))

/** Returns every set of `size` of the items. */
function subsets<T>(items: readonly T[], size: number): T[][] {
  if (size === 0) return [[]]
  return items.flatMap((item, at) => subsets(items.slice(at + 1), size - 1).map((rest) => [item, ...rest]))
}

describe('a secret shared by Shamir', () => {
  it('comes back from every two of three, in either order', async () => {
    await fc.assert(
      fc.asyncProperty(secrets, async (secret) => {
        const shares = await splitSecret(secret, { scheme: 'shamir', shares: 3, threshold: 2, random })
        const all = shares.map((bytes, index) => ({ index, bytes }))
        for (const pair of subsets(all, 2)) {
          expect(await combineShares(pair, 2, 'shamir')).toEqual(secret)
          expect(await combineShares(pair.toReversed(), 2, 'shamir')).toEqual(secret)
        }
      }),
    )
  })

  it('comes back from every set that is large enough, and from none that is not', async () => {
    await fc.assert(
      fc.asyncProperty(secrets, sizes, async (secret, [count, threshold]) => {
        const shares = await splitSecret(secret, { scheme: 'shamir', shares: count, threshold, random })
        const all = shares.map((bytes, index) => ({ index, bytes }))
        for (const some of subsets(all, threshold)) {
          expect(await combineShares(some, threshold, 'shamir')).toEqual(secret)
          const fewer = combineShares(some.slice(1), threshold, 'shamir')
          await expect(fewer.catch(code)).resolves.toBe('too-few-shares')
        }
      }),
      { numRuns: 30 },
    )
  })

  it('is shared as existing clients do it: with x = place + 1 behind each share it is one of shamir-secret-sharing', async () => {
    const secret = random(40)
    const shares = await splitSecret(secret, { scheme: 'shamir', shares: 4, threshold: 2, random })
    const known = shares.map((bytes, index) => Uint8Array.of(...bytes, index + 1))
    for (const some of [...subsets(known, 2), ...subsets(known, 3)]) {
      expect((await combine(some)).subarray(32)).toEqual(secret)
    }
  })

  it('takes the shares that others made, at whichever places', async () => {
    const hidden = random(50)
    const theirs = await split(hidden, 3, 2)
    const shares = theirs.map((share) => ({ index: (share.at(-1) ?? 0) - 1, bytes: share.slice(0, -1) }))
    expect(await combineShares(shares.slice(1), 2, 'shamir')).toEqual(hidden.slice(32))
  })

  it('gives shares of which one says nothing: each value of a byte is as likely, whatever the secret', async () => {
    for (const fill of [0, 255]) {
      const secret = new Uint8Array(65_536).fill(fill)
      const shares = await splitSecret(secret, { scheme: 'shamir', shares: 3, threshold: 2, random })
      const counts = new Uint32Array(256)
      // The last: it is computed, and not drawn.
      for (const byte of shares[2]?.subarray(32) ?? []) counts[byte] = (counts[byte] ?? 0) + 1
      for (const count of counts) expect(Math.abs(count - 256)).toBeLessThan(130)
    }
  })
})

describe('a secret shared by XOR', () => {
  it('comes back from all shares', async () => {
    await fc.assert(
      fc.asyncProperty(secrets, fc.integer({ min: 2, max: 5 }), async (secret, count) => {
        const shares = await splitSecret(secret, { scheme: 'xor', shares: count, threshold: count, random })
        const all = shares.map((bytes, index) => ({ index, bytes }))
        expect(await combineShares(all, count, 'xor')).toEqual(secret)
        await expect(combineShares(all.slice(1), count, 'xor').catch(code)).resolves.toBe('too-few-shares')
      }),
    )
  })
})

describe('a secret of the largest size', () => {
  it.each(['shamir', 'xor'] as const)('is shared by %s, and comes back', async (scheme) => {
    const secret = new Uint8Array(MAX_SECRET_BYTES).fill(7)
    const shares = await splitSecret(secret, { scheme, shares: 2, threshold: 2, random })
    const all = shares.map((bytes, index) => ({ index, bytes }))
    expect(Buffer.compare(await combineShares(all, 2, scheme), secret)).toBe(0)
    // The component stores 117 bytes with a share, in a value of 1,048,576.
    for (const share of shares) expect(share.length).toBeLessThanOrEqual(1_048_576 - 117)
    // The zeros of a piece that nobody drew would be here.
    for (const share of shares) expect(new Set(share.subarray(-1000)).size).toBeGreaterThan(200)
  })
})

describe('shares that do not belong together', () => {
  const share = (index: number, length = 40) => ({ index, bytes: random(length) })

  it.each([
    ['two of one engine', [share(1), share(1)], 'mixed-shares'],
    ['of different lengths', [share(1), share(2, 41)], 'mixed-shares'],
    ['too short', [share(1, 31), share(2, 31)], 'mixed-shares'],
    ['one', [share(1)], 'too-few-shares'],
    ['none', [], 'too-few-shares'],
  ])('are refused: %s', async (_, shares, expected) => {
    await expect(combineShares(shares, 2, 'shamir').catch(code)).resolves.toBe(expected)
    await expect(combineShares(shares, 2, 'xor').catch(code)).resolves.toBe(expected)
  })

  it('are refused where one share would be the secret', async () => {
    await expect(combineShares([share(1)], 1, 'shamir').catch(code)).resolves.toBe('too-few-shares')
  })
})

describe('what cannot be shared', () => {
  const split = { scheme: 'shamir', shares: 3, threshold: 2, random } as const
  it.each([
    ['a threshold of 1', { threshold: 1 }],
    ['a threshold above the number of engines', { threshold: 4 }],
    ['a threshold that is not a whole number', { threshold: 2.5 }],
    ['one engine', { shares: 1, threshold: 1 }],
    ['256 engines', { shares: 256 }],
    ['fewer than all with XOR', { scheme: 'xor' }],
  ] as const)('is %s', async (_, change) => {
    await expect(splitSecret(new Uint8Array(1), { ...split, ...change }).catch(code)).resolves.toBe('bad-request')
  })

  it('is a secret that no engine would take', async () => {
    await expect(splitSecret(new Uint8Array(MAX_SECRET_BYTES + 1), split).catch(code)).resolves.toBe('bad-request')
  })
})
