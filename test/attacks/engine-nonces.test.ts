/** A signed request that comes many times at once, against real workers and a real database, is accepted once. */

import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { requestFields, signRequest } from '../../src/offchain/authentication/offchain-v2.ts'
import { accountOfKey } from '../../src/offchain/authentication/recover.ts'
import { CONTRACT, ENGINE } from '../support/engine.ts'
import { servingInWorkers } from '../support/engine-workers.ts'

const KEY = new Uint8Array(randomBytes(32)).fill(1, 0, 1)
const OWNER = accountOfKey(KEY, 'evm')
const TIMES = 50

/** Writes a line for each request that it believes; nothing tells two of them apart but whether they were believed. */
const SOURCE = `import { component, json, text } from 'vouchsafe/component'
component({
  http: (request, context) => {
    const lines = context.storage('lines')
    const count = Number(new TextDecoder().decode(lines.get('count') ?? new Uint8Array(0)))
    if (request.path === '/count') return json(200, { count, left: lines.get(String(count + 1)) !== undefined })
    if (context.authenticate(['${OWNER}']) === undefined) return text(401, 'Unauthorized')
    if (request.method === 'GET') return text(200, 'the share')
    lines.set(String(count + 1), request.body)
    lines.set('count', String(count + 1))
    return text(201, String(count + 1))
  },
})`

let engine: Awaited<ReturnType<typeof servingInWorkers>>
let url: string
beforeAll(async () => {
  engine = await servingInWorkers(SOURCE, [CONTRACT])
  await engine.engine.app.listen({ port: 0, host: '127.0.0.1' })
  url = `http://127.0.0.1:${(engine.engine.app.server.address() as AddressInfo).port}/offchain/${CONTRACT}`
})
afterAll(() => engine.stop())

/** Signs a request, and returns a function that sends the same bytes each time. */
function signed(method: string, body: string): () => Promise<{ status: number; said: string }> {
  const issuedAt = engine.clock.now.getTime()
  const request = { method, uri: '/share', headers: [], body: Buffer.from(body) }
  const recipient = { engine: ENGINE, contract: CONTRACT, chain: { id: '31337', addresses: 'evm' } } as const
  const life = { issuedAt, expiresAt: issuedAt + 60_000, nonce: new Uint8Array(randomBytes(16)) }
  const fields = requestFields(request, recipient, life)
  if (fields === undefined) throw new Error('it cannot be signed')
  const headers = { authorization: signRequest(fields, 'sha256', KEY) }
  return async () => {
    const answer = await fetch(`${url}/share`, {
      method,
      headers,
      ...(method === 'GET' ? {} : { body: Buffer.from(body) }),
    })
    return { status: answer.status, said: await answer.text() }
  }
}

async function storedNow(): Promise<{ readonly count: number; readonly left: boolean }> {
  return (await (await fetch(`${url}/count`)).json()) as { count: number; left: boolean }
}

it.each(['PUT', 'POST', 'GET'])(
  '%s: one is accepted, the others are refused, and nothing of them is left',
  async (method) => {
    const isWriting = method !== 'GET'
    const before = await storedNow()
    const bytesBefore = (await engine.store.get('component_state', CONTRACT))?.value.storageBytes ?? 0
    const spentBefore = (await engine.store.listDue('spent_request', new Date(8.64e15), 1000)).length
    const send = signed(method, isWriting ? 'a share' : '')
    const answers = await Promise.all(Array.from({ length: TIMES }, send))
    const accepted = isWriting ? { status: 201, said: String(before.count + 1) } : { status: 200, said: 'the share' }
    const refused = Array.from({ length: TIMES - 1 }, () => ({ status: 401, said: 'Unauthorized' }))
    expect(answers.sort((one, other) => one.status - other.status)).toEqual([accepted, ...refused])
    expect(await storedNow()).toEqual({ count: before.count + (isWriting ? 1 : 0), left: false })
    expect((await engine.store.listDue('spent_request', new Date(8.64e15), 1000)).length).toBe(spentBefore + 1)
    const bytesAfter = (await engine.store.get('component_state', CONTRACT))?.value.storageBytes ?? 0
    if (method === 'GET') expect(bytesAfter).toBe(bytesBefore)
    if (method === 'POST') expect(bytesAfter - bytesBefore).toBe(256 + 'lines'.length + '2'.length + 'a share'.length)
    expect(await send()).toMatchObject({ status: 401 })
  },
)
