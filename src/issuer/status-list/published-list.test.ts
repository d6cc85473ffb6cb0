/** The documents of many lists: which are made anew, when, and for how long they are good. */
import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { filesOf, ISSUER_URL, type Services, settings, startServices } from '../../../test/support/services.ts'
import { readJws } from '../../codec/jws.ts'
import { createKeyRing, type KeyRing } from '../../keys/key-ring.ts'
import { type IssuerConfig, readIssuerConfig } from '../config.ts'
import { createPublishedListReader } from './published-list.ts'

/** The number of lists that ten million entries need. */
const LISTS = 77
const HOUR = 3_600_000

let services: Services
let config: IssuerConfig
const ids = Array.from({ length: LISTS }, () => randomBytes(16).toString('base64url'))
beforeAll(async () => {
  services = await startServices()
  const read = readIssuerConfig(settings('issuer', ISSUER_URL), filesOf(services.files), new Date())
  if ('mistakes' in read) throw new Error(JSON.stringify(read.mistakes))
  config = read.config
  for (const id of ids) {
    await services.issuerStore.commit([{ insert: 'status_list', id, value: { entries: 131_072, bits: 2 } }])
  }
  return () => services.close()
})

/** Serves lists as a process does, and counts what it signs. */
function startProcess(notAfter = config.keys.signing.chain[0].notAfter, settingsOfProcess = config) {
  const clock = { now: new Date() }
  const ring = createKeyRing(config.keys)
  const counts = { signed: 0 }
  const current = ring.statusListSigners.current
  const signer = {
    ...current,
    sign: (data: Uint8Array) => {
      counts.signed += 1
      return current.sign(data)
    },
  }
  const statusListSigners = { ...ring.statusListSigners, findSigner: () => ({ signer, notAfter }) }
  const keys: KeyRing = { ...ring, statusListSigners }
  return {
    clock,
    counts,
    readList: createPublishedListReader({
      store: services.issuerStore,
      config: settingsOfProcess,
      keys,
      now: () => clock.now,
    }),
  }
}

it('has another entity tag for the same version of a list after a restore', async () => {
  const tag = async () => (await startProcess().readList(ids[0] ?? '', 'jwt')).etag
  const generation = { number: 0, origin: 'here' }
  await services.issuerStore.commit([{ insert: 'generation', id: 'current', value: { ...generation, id: 'first' } }])
  const before = await tag()
  expect(await tag()).toBe(before)
  const restored = { ...generation, id: 'second' }
  await services.issuerStore.commit([{ update: 'generation', id: 'current', version: 0, value: restored }])
  expect(await tag()).not.toBe(before)
})

it('has another entity tag where a setting that is in the document has changed', async () => {
  const tag = async (changed: Partial<IssuerConfig>) =>
    (await startProcess(undefined, { ...config, ...changed }).readList(ids[0] ?? '', 'jwt')).etag
  const tags = await Promise.all([
    tag({}),
    tag({ baseUrl: 'https://moved.example' }),
    tag({ issuer: { ...config.issuer, id: 'https://renamed.example' } }),
    tag({ statusList: { ...config.statusList, ttlSeconds: 1 } }),
  ])
  expect(new Set(tags).size).toBe(4)
})

describe('the lists of ten million credentials', () => {
  it('are signed once, however often they are asked for', async () => {
    const { readList, counts } = startProcess()
    for (let round = 0; round < 3; round += 1) {
      for (const id of ids)
        for (const kind of ['jwt', 'cwt'] as const) await (await readList(id, kind)).makeDocument('gzip')
    }
    expect(counts.signed).toBe(2 * LISTS)
  })

  it('are renewed at moments of their own, each twice a day, and by all processes at the same one', async () => {
    const [first, second] = [startProcess(), startProcess()]
    const tags = async ({ readList }: typeof first) =>
      Promise.all(ids.map(async (id) => (await readList(id, 'jwt')).etag))
    const start = first.clock.now.getTime()
    let before = await tags(first)
    const renewed: number[] = []
    for (let hour = 1; hour <= 12; hour += 1) {
      first.clock.now = second.clock.now = new Date(start + hour * HOUR)
      const after = await tags(first)
      expect(await tags(second)).toEqual(after)
      renewed.push(after.filter((tag, at) => tag !== before[at]).length)
      before = after
    }
    expect(renewed.reduce((sum, each) => sum + each)).toBe(LISTS)
    expect(Math.max(...renewed)).toBeLessThan(LISTS / 2)
  })

  it('are good for half a day at least whenever they are served, and never longer than the certificate', async () => {
    const notAfter = new Date(Date.now() + 40 * HOUR)
    const { readList, clock } = startProcess(notAfter)
    const start = clock.now.getTime()
    for (let hour = 0; hour < 40; hour += 1) {
      clock.now = new Date(start + hour * HOUR)
      for (const id of ids.slice(0, 8)) {
        const document = await (await readList(id, 'jwt')).makeDocument('identity')
        const exp = Number(readJws(document.toString('latin1')).payload.exp) * 1000
        expect(exp).toBeLessThanOrEqual(notAfter.getTime())
        expect(exp).toBeGreaterThan(Math.min(clock.now.getTime() + 12 * HOUR, notAfter.getTime()) - 1000)
      }
    }
  })
})
