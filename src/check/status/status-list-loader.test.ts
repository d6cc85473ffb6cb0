/** The cache of status lists: how often one that does not answer is asked for. */
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { type HttpClientRequest, OutboundError } from '../../http/outbound.ts'
import { createPolicyForResponse, createStatusListLoader } from './status-list-loader.ts'

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

it('loads no list more for a response once the others have taken 15 seconds, whatever the clock was set back by', async () => {
  let time = 10_000_000
  let loads = 0
  const durations = [14_000, -3_600_000, 999, 1]
  const policy = createPolicyForResponse(
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
