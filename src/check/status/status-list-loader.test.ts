/** The cache of status lists: how often one that does not answer is asked for. */
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { type HttpClientRequest, OutboundError } from '../../http/outbound.ts'
import { createStatusListLoader } from './status-list-loader.ts'

it('asks again for a list that failed after five seconds, and where the clock was set back since', async () => {
  let time = 10_000_000
  let requests = 0
  const outbound = () => {
    requests += 1
    return Promise.reject(new OutboundError('nobody answers'))
  }
  const effects = { outbound, now: () => new Date(time), log: pino({ level: 'silent' }) }
  const loadList = createStatusListLoader(effects, true)
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
  const loadList = createStatusListLoader({ outbound, now: () => new Date(), log: pino({ level: 'silent' }) }, true)
  await loadList({ kind: 'token', uri: 'https://issuer.example/list' }, 'jwt')
  expect(requests).toEqual([expect.objectContaining({ isHostUntrusted: true })])
})
