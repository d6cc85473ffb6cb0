/** `Idempotency-Key` of the two endpoints that start sessions. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { API_KEY, ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import { authorization, call, dataset, dcqlQuery, declare } from '../support/wire.ts'

const OTHER_KEY = 'o'.repeat(64)
const DAY_MS = 24 * 60 * 60 * 1000

describe.each([
  ['issuance', `${ISSUER_URL}/issuance/oid4vci/new-session`],
  ['verification', `${VERIFIER_URL}/presentation/oid4vp/new-session`],
] as const)('a repeated start of an %s session', (kind, url) => {
  let services: Services
  let body: Record<string, unknown>
  beforeAll(async () => {
    // Two applications, and one label for both.
    const integrations = { authentication: { [API_KEY]: 'test', [OTHER_KEY]: 'test' } }
    services = await startServices({ issuer: { integrations }, verifier: { integrations } })
    body =
      kind === 'issuance'
        ? { credential_configurations: [await declare(services)], credential_dataset: dataset }
        : { verification_query_id: await queryId() }
  })
  afterAll(() => services.close())

  const queryId = async () =>
    (await call(services, `${VERIFIER_URL}/verification-query/create`, { dcql_query: dcqlQuery })).text()
  const start = async (key: string | undefined, posted: object = body, apiKey: object = authorization) => {
    const headers = { ...apiKey, 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) }
    const response = await services.fetch(url, { method: 'POST', headers, body: JSON.stringify(posted) })
    return { status: response.status, answer: (await response.json()) as Record<string, string> }
  }
  const remembered = () =>
    kind === 'issuance'
      ? services.issuerStore.list('idempotent_answer')
      : services.verifierStore.list('idempotent_answer')
  const sessions = async () =>
    kind === 'issuance'
      ? (await services.issuerStore.list('issuance_session')).length
      : (await services.verifierStore.list('verification_session')).length

  it('gets the first answer, and starts nothing more', async () => {
    const first = await start('key-1')
    const before = await sessions()
    expect(first.status).toBe(200)
    expect(await start('key-1')).toEqual(first)
    expect(await sessions()).toBe(before)
  })

  it('starts another without a key, with another key, and by another application', async () => {
    const { answer } = await start('key-2')
    const others = [
      await start(undefined),
      await start('key-3'),
      await start('key-2', body, { authorization: `Bearer ${OTHER_KEY}` }),
    ]
    const ids = new Set([answer, ...others.map((other) => other.answer)].map(({ session_id: id }) => id))
    expect(ids.size).toBe(4)
  })

  it('is one session when 20 come at the same time', async () => {
    const before = await sessions()
    const answers = await Promise.all(Array.from({ length: 20 }, () => start('key-4')))
    expect(new Set(answers.map(({ status, answer }) => `${status} ${String(answer.session_id)}`)).size).toBe(1)
    expect(answers[0]?.status).toBe(200)
    expect(await sessions()).toBe(before + 1)
  })

  it('is the same with its members in another order, also inside', async () => {
    const turned = (value: unknown): unknown => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([name, member]) => [name, turned(member)]),
      )
    }
    const posted = { ...body, expires_in: 600 }
    const first = await start('key-order', posted)
    expect(first.status).toBe(200)
    expect(JSON.stringify(turned(posted))).not.toBe(JSON.stringify(posted))
    expect(await start('key-order', turned(posted) as object)).toEqual(first)
  })

  it('with another body is a conflict, and starts nothing', async () => {
    await start('key-5')
    const before = await sessions()
    const { status, answer } = await start('key-5', { ...body, expires_in: 17 })
    expect([status, answer.error]).toEqual([409, 'idempotency_conflict'])
    expect(await sessions()).toBe(before)
  })

  it('that was refused before is looked at anew', async () => {
    expect((await start('key-6', { ...body, expires_in: 0 })).status).toBe(400)
    expect((await start('key-6')).status).toBe(200)
  })

  it('is a new one after 24 hours, and what was remembered is purged', async () => {
    const { answer } = await start('key-7')
    services.clock.now = new Date(services.clock.now.getTime() + DAY_MS - 1)
    expect((await start('key-7')).answer).toEqual(answer)
    services.clock.now = new Date(services.clock.now.getTime() + 1)
    const again = await start('key-7')
    expect([again.status, again.answer.session_id === answer.session_id]).toEqual([200, false])
    expect((await start('key-7')).answer).toEqual(again.answer)
    services.clock.now = new Date(services.clock.now.getTime() + DAY_MS)
    await services.runTasks()
    expect(await remembered()).toEqual([])
  })

  it.each([
    ['an empty one', ' '],
    ['one with a space', 'a b'],
    ['one that is too long', 'k'.repeat(256)],
  ])('is refused for a key that is none: %s', async (_, key) => {
    const { status, answer } = await start(key)
    expect([status, answer.error]).toEqual([400, 'invalid_request'])
    expect(answer.error_description).toMatch(/Idempotency-Key/)
  })

  if (kind === 'issuance')
    it('gets the same transaction code, which no database has in the clear', async () => {
      const first = await start('key-with-tx-code', { ...body, tx_code: { length: 12 } })
      expect(first.answer.tx_code).toMatch(/^[0-9]{12}$/)
      const stored = JSON.stringify([await remembered(), await services.issuerStore.list('issuance_session')])
      expect(stored).toContain(first.answer.session_id)
      expect(stored).not.toContain(first.answer.tx_code)
      expect(await start('key-with-tx-code', { ...body, tx_code: { length: 12 } })).toEqual(first)
      expect(services.logLines.join()).not.toContain(first.answer.tx_code)
    })

  it('leaves nothing of key or body in what is remembered', async () => {
    await start('a-key-to-look-for')
    const rows = JSON.stringify(await remembered())
    expect(rows).toContain('session_id')
    expect(rows).not.toMatch(/a-key-to-look-for|\bAda\b|Lovelace/)
  })
})
