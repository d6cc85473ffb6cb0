import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../codec/json.ts'
import { limitIntrospections } from './introspection-limits.ts'

const clock = { at: 0 }

/** Makes an introspection in which tokens that begin with "good" are active; no answer comes before `release`. */
function held() {
  const asked: string[] = []
  let release: () => void = () => undefined
  const slow = new Promise<void>((resolve) => {
    release = resolve
  })
  const answer = (token: string): JsonObject => ({ active: token.startsWith('good') })
  const introspect = limitIntrospections(
    () => new Date(clock.at),
    async (token) => {
      asked.push(token)
      if (token.startsWith('random')) await slow
      return answer(token)
    },
  )
  return { asked, introspect, release }
}

const refused = (results: readonly PromiseSettledResult<unknown>[]): number =>
  results.filter(({ status }) => status === 'rejected').length

describe('places for introspection', () => {
  it('are ten for each network, so that the tokens of others are asked about', async () => {
    const { asked, introspect, release } = held()
    const flood = Promise.allSettled(
      Array.from({ length: 60 }, (_, count) => introspect(`random-${count}`, '192.0.2.1')),
    )
    expect(asked).toHaveLength(10)
    expect(await introspect('good', '192.0.2.2')).toEqual({ active: true })
    release()
    expect(refused(await flood)).toBe(50)
    expect(await introspect('good-too', '192.0.2.1')).toEqual({ active: true })
  })

  it('are forty for all networks, and ten more for tokens that were good before', async () => {
    const { asked, introspect, release } = held()
    await Promise.all(Array.from({ length: 10 }, (_, count) => introspect(`good-${count}`, '192.0.2.1')))
    clock.at += 5000
    const flood = Promise.allSettled(
      Array.from({ length: 100 }, (_, count) => introspect(`random-${count}`, `198.51.100.${count}`)),
    )
    expect(asked).toHaveLength(50)
    await expect(introspect('good-new', '192.0.2.1')).rejects.toThrow('cannot be asked now')
    for (let count = 0; count < 10; count++) {
      expect(await introspect(`good-${count}`, '192.0.2.1')).toEqual({ active: true })
    }
    release()
    expect(refused(await flood)).toBe(60)
  })

  it('are those of other tokens for one that has been revoked, until it is good again', async () => {
    const revoked = new Set<string>()
    let [asked, release]: [number, () => void] = [0, () => undefined]
    const introspect = limitIntrospections(
      () => new Date(clock.at),
      async (token) => {
        asked += 1
        if (token.startsWith('random')) {
          await new Promise<void>((resolve) => {
            release = resolve
          })
        }
        return { active: !revoked.has(token) }
      },
    )
    await introspect('good', '192.0.2.1')
    revoked.add('good')
    clock.at += 5000
    expect(await introspect('good', '192.0.2.1')).toEqual({ active: false })
    expect(await introspect('good', '192.0.2.1')).toEqual({ active: false })
    expect(asked).toBe(2)
    clock.at += 5000
    const flood = Array.from({ length: 10 }, (_, count) => introspect(`random-${count}`, '192.0.2.1'))
    await expect(introspect('good', '192.0.2.1')).rejects.toThrow('come from this network')
    release()
    await Promise.race(flood)
    revoked.clear()
    expect(await introspect('good', '192.0.2.1')).toEqual({ active: true })
    clock.at += 5000
    const more = introspect('random-more', '192.0.2.1')
    expect(await introspect('good', '192.0.2.1')).toEqual({ active: true })
    release()
    await more
  })

  it('are not used again by a token that was asked about in the last five seconds', async () => {
    const { asked, introspect } = held()
    const [first, second] = [introspect('good', '192.0.2.1'), introspect('good', '192.0.2.2')]
    expect(await first).toBe(await second)
    clock.at += 4999
    await introspect('good', '192.0.2.1')
    expect(asked).toHaveLength(1)
    clock.at += 1
    await introspect('good', '192.0.2.1')
    expect(asked).toHaveLength(2)
  })

  it('are used again where the clock was set back after the answer', async () => {
    const { asked, introspect } = held()
    await introspect('good', '192.0.2.1')
    clock.at -= 1
    await introspect('good', '192.0.2.1')
    await introspect('good', '192.0.2.1')
    expect(asked).toHaveLength(2)
  })
})
