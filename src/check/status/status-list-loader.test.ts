/** The cache of status lists: how often one that does not answer is asked for, and when one is fetched again. */

import { deflateSync } from 'node:zlib'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { toBase64url } from '../../codec/base64url.ts'
import { type HttpClientRequest, OutboundError } from '../../http/outbound.ts'
import { createStatusLists, type FindSuccessorProblem, limitLoadsOfResponse } from './status-list-loader.ts'

const random = (bytes: number) => new Uint8Array(bytes)

it('asks again for a list that failed after five seconds, and where the clock was set back since', async () => {
  let time = 10_000_000
  let requests = 0
  const outbound = () => {
    requests += 1
    return Promise.reject(new OutboundError('nobody answers'))
  }
  const effects = { outbound, now: () => new Date(time), random, log: pino({ level: 'silent' }) }
  const { loadList } = createStatusLists(effects, true)
  const load = () => loadList({ kind: 'token', uri: 'https://issuer.example/list' }, 'jwt')
  expect(await load()).toHaveProperty('unreachable')
  time += 4999
  await load()
  expect(requests).toBe(1)
  time += 1
  await load()
  expect(requests).toBe(2)
  time -= 3_600_000
  await load()
  expect(requests).toBe(3)
})

it('says of each request that a stranger chose the host', async () => {
  const requests: HttpClientRequest[] = []
  const outbound = (request: HttpClientRequest) => {
    requests.push(request)
    return Promise.reject(new OutboundError('nobody answers'))
  }
  const effects = { outbound, now: () => new Date(), random, log: pino({ level: 'silent' }) }
  const { loadList } = createStatusLists(effects, true)
  await loadList({ kind: 'token', uri: 'https://issuer.example/list' }, 'jwt')
  expect(requests).toEqual([expect.objectContaining({ isHostUntrusted: true })])
})

it('loads no list more for a response once the others have taken 15 seconds, whatever the clock was set back by', async () => {
  let time = 10_000_000
  let loads = 0
  const durations = [14_000, -3_600_000, 999, 1]
  const policy = limitLoadsOfResponse(
    {
      loadList: () => {
        time += durations[loads] ?? 0
        loads += 1
        return Promise.resolve({ problem: 'it cannot be read' })
      },
      onUnreachable: 'reject',
    },
    () => new Date(time),
  )
  const load = (at: number) => policy.loadList({ kind: 'token', uri: `https://issuer.example/${at}` }, 'jwt')
  for (let at = 0; at < 4; at += 1) expect(await load(at)).toEqual({ problem: 'it cannot be read' })
  expect(await load(4)).toHaveProperty('problem', expect.stringMatching(/other status lists .* took 15 seconds/))
  expect(loads).toBe(4)
})

describe('a list that was named', () => {
  const START = 1_000_000_000_000
  const SECOND = 1000
  const HOUR = 3_600_000
  const FIVE_MINUTES: { readonly ttl?: number } = { ttl: 300 }

  /** Makes lists whose answers are not signed, at a clock and a chance that the test holds. */
  function makeLists({ claims = FIVE_MINUTES, chance = 0, findSuccessorProblem = accept } = {}) {
    const world = {
      time: START,
      claims,
      failure: undefined as Error | undefined,
      /** The promise that the next answer waits for. */
      delay: undefined as Promise<void> | undefined,
      requests: [] as string[],
      lines: [] as string[],
    }
    const part = (value: object) => toBase64url(Buffer.from(JSON.stringify(value)))
    const outbound = async ({ url }: HttpClientRequest) => {
      world.requests.push(url)
      const { delay } = world
      world.delay = undefined
      const status_list = { bits: 1, lst: toBase64url(deflateSync(new Uint8Array(16))) }
      const payload = { sub: url, iat: Math.floor(world.time / 1000), ...world.claims, status_list }
      const body = Buffer.from(`${part({ typ: 'statuslist+jwt', alg: 'ES256' })}.${part(payload)}.${part({})}`)
      await delay
      if (world.failure !== undefined) throw world.failure
      return { status: 200, headers: { 'content-type': 'application/statuslist+jwt' }, body }
    }
    const log = pino({}, { write: (line: string) => void world.lines.push(line) })
    const effects = { outbound, now: () => new Date(world.time), random: (n: number) => Buffer.alloc(n, chance), log }
    const { loadList, refreshList } = createStatusLists(effects, true)
    const load = (number = 0) => loadList({ kind: 'token', uri: `https://issuer.example/${number}` }, 'jwt')
    const name = async (number = 0) => {
      const result = await load(number)
      if (!('list' in result)) throw new Error('there is no list')
      result.markVerified(findSuccessorProblem)
      return result
    }
    const passTime = async (ms: number) => {
      world.time += ms
      await refreshList()
      return world.requests.length
    }
    return { world, load, name, passTime, refreshList }
  }
  const accept: FindSuccessorProblem = () => undefined

  it.each([
    [0, 240],
    [255, 285],
  ])('is fetched again before its ttl is over, by chance (%i) after %i seconds of 300', async (chance, due) => {
    const { world, name, passTime } = makeLists({ chance })
    await name()
    expect(await passTime((due - 1) * SECOND)).toBe(1)
    expect(await passTime(SECOND)).toBe(2)
    world.time = START + 500 * SECOND
    expect(await name()).toMatchObject({ isCached: true })
    expect(world.requests).toHaveLength(2)
  })

  it('is fetched again for a day after it was last named, and then no more', async () => {
    const { world, name, passTime } = makeLists({ claims: { ttl: 3600 } })
    await name()
    while (world.time < START + 12 * HOUR) await passTime(HOUR / 4)
    const requests = world.requests.length
    expect(requests).toBe(13)
    await name()
    expect(world.requests).toHaveLength(requests)
    while (world.time < START + 36 * HOUR) await passTime(HOUR / 4)
    expect(world.requests).toHaveLength(36)
    for (let round = 0; round < 100; round += 1) await passTime(HOUR / 4)
    expect(world.requests).toHaveLength(36)
  })

  it.each([
    [{ ttl: 59 }, 1],
    [{ ttl: 60 }, 2],
    [{}, 2],
  ])('is fetched again only if its ttl is a minute or more, or absent: %o', async (claims, requests) => {
    const { name, passTime } = makeLists({ claims })
    await name()
    expect(await passTime(290 * SECOND)).toBe(requests)
  })

  it('is not replaced by one that its check refuses, until its time is over', async () => {
    const refuse: FindSuccessorProblem = (_next, _last, { isExpired }) => (isExpired ? undefined : 'it is older')
    const { world, load, name, passTime } = makeLists({ findSuccessorProblem: refuse })
    await name()
    expect(await passTime(240 * SECOND)).toBe(2)
    expect(await load()).toMatchObject({ fetchedAt: new Date(START) })
    world.time = START + 300 * SECOND
    expect(await passTime(0)).toBe(3)
    expect(await load()).toMatchObject({ isCached: true, fetchedAt: new Date(START + 300 * SECOND) })
  })

  it('is not fetched again before it was verified', async () => {
    const { load, passTime } = makeLists()
    await load()
    expect(await passTime(290 * SECOND)).toBe(1)
  })

  it('is one of the hundred that were named last, and one is fetched in a round', async () => {
    const { world, name, refreshList } = makeLists()
    for (let number = 0; number < 102; number += 1) {
      world.time += 1
      await name(number)
    }
    world.time += 1
    await name(0)
    world.requests.length = 0
    world.time += 250 * SECOND
    await refreshList()
    expect(world.requests).toHaveLength(1)
    for (let round = 0; round < 200; round += 1) await refreshList()
    expect(world.requests).toHaveLength(100)
    for (const number of [1, 2]) expect(world.requests).not.toContain(`https://issuer.example/${number}`)
  })

  it('is fetched before others that are due for a shorter time', async () => {
    const { world, name, refreshList } = makeLists()
    for (const number of [1, 2]) {
      await name(number)
      world.time += SECOND
    }
    world.time += 250 * SECOND
    await refreshList()
    expect(world.requests.at(-1)).toBe('https://issuer.example/1')
  })

  it('stays until its end where it cannot be fetched again, which is tried with pauses and then given up', async () => {
    const { world, name, passTime } = makeLists()
    await name()
    world.failure = new OutboundError('nobody answers')
    expect(await passTime(240 * SECOND)).toBe(2)
    expect(await passTime(47 * SECOND)).toBe(2)
    expect(await name()).toMatchObject({ isCached: true, fetchedAt: new Date(START) })
    expect(await passTime(SECOND)).toBe(3)
    expect(await passTime(29 * SECOND)).toBe(3)
    expect(await passTime(SECOND)).toBe(4)
    for (let round = 0; round < 100; round += 1) await passTime(30 * SECOND)
    expect(world.requests).toHaveLength(4)
    world.failure = undefined
    expect(await name()).toMatchObject({ isCached: false })
    expect(await passTime(240 * SECOND)).toBe(6)
    expect(world.lines).toHaveLength(3)
    expect(world.lines.join('')).not.toContain('https://')
  })

  it('is asked for with pauses too where a request throws a mistake of ours', async () => {
    const { world, name, passTime } = makeLists()
    await name()
    world.failure = new Error('a mistake of ours')
    await expect(passTime(240 * SECOND)).rejects.toThrow('a mistake of ours')
    expect(await passTime(SECOND)).toBe(2)
    await expect(passTime(47 * SECOND)).rejects.toThrow('a mistake of ours')
  })

  it('is fetched again no more once its successor has a ttl of less than a minute', async () => {
    const { world, name, passTime } = makeLists()
    await name()
    world.claims = { ttl: 59 }
    expect(await passTime(240 * SECOND)).toBe(2)
    expect(await name()).toMatchObject({ isCached: true })
    for (let round = 0; round < 10; round += 1) await passTime(30 * SECOND)
    expect(world.requests).toHaveLength(2)
  })

  it('stays where a credential had it loaded anew while it was fetched again', async () => {
    const { world, name, refreshList } = makeLists()
    await name()
    let answer = (): void => undefined
    world.delay = new Promise((resolve) => {
      answer = resolve
    })
    world.time += 299 * SECOND
    const refresh = refreshList()
    world.time += SECOND
    const fetchedAt = new Date(world.time)
    expect(await name()).toMatchObject({ isCached: false, fetchedAt })
    world.time += SECOND
    answer()
    await refresh
    expect(await name()).toMatchObject({ isCached: true, fetchedAt })
  })

  it('stays until its end where what is fetched cannot take its place', async () => {
    const { world, name, passTime } = makeLists({ findSuccessorProblem: () => 'it is another one' })
    await name()
    expect(await passTime(240 * SECOND)).toBe(2)
    expect(await name()).toMatchObject({ isCached: true, fetchedAt: new Date(START) })
    expect(world.lines.join('')).toContain('it is another one')
  })
})
