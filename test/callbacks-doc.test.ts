/** The receiver in docs/callbacks.md is what it says: it takes what a service signs, and nothing else. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createOutbound } from '../src/bin/network/outbound.ts'
import { postCallback } from '../src/callback/post.ts'
import { resolveSessionCallback } from '../src/config/session-callback.ts'
import { eventTypes } from '../src/event/event.ts'

const page = readFileSync(join(import.meta.dirname, '../docs/callbacks.md'), 'utf8')
const outbound = createOutbound()
const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`

/** Starts the receiver of the page, and gives its address and what it printed. */
async function startReceiver(): Promise<{ readonly url: string; readonly printed: () => string }> {
  const [, code = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? []
  const file = join(mkdtempSync(join(tmpdir(), 'vouchsafe-receiver-')), 'receiver.mjs')
  // Any port that is free, told by the receiver itself.
  writeFileSync(
    file,
    code.replace('.listen(3000)', ".listen(0, function () { console.log('port', this.address().port) })"),
  )
  const child = spawn(process.execPath, [file], { env: { ...process.env, SECRET: secret } })
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  await vi.waitUntil(() => /port \d+\n/.test(printed), { timeout: 60_000, interval: 5 })
  return { url: `http://127.0.0.1:${/port (\d+)/.exec(printed)?.[1] ?? ''}/events`, printed: () => printed }
}

describe('docs/callbacks.md', () => {
  it('has a receiver that takes what is signed by the secret and fresh', async () => {
    const { url, printed } = await startReceiver()
    const event = { id: 'e1', type: 'issuance.succeeded', at: 0, queuedAt: 0 }
    const send = (withSecret: string | undefined, at: Date) => {
      const sessionCallback = resolveSessionCallback({
        url,
        ...(withSecret === undefined ? {} : { secret: withSecret }),
      })
      return postCallback({ sessionCallback, outbound }, event, { session_id: 's1' }, at)
    }
    const now = Date.now()
    expect(await send(secret, new Date(now))).toEqual({ delivered: true })
    const problem = expect.stringMatching(/^the receiver answered 401; /) as string
    const refused = { delivered: false, problem, retryAfterMs: 0 }
    expect(await send(Buffer.alloc(32, 6).toString('base64'), new Date(now))).toEqual(refused)
    expect(await send(undefined, new Date(now))).toEqual(refused)
    expect(await send(secret, new Date(now - 301_000))).toEqual(refused)
    expect(printed().match(/"session_id":"s1"/g)).toHaveLength(1)
    const { port, hostname } = new URL(url)
    await new Promise<void>((resolve, reject) => {
      const broken = connect(Number(port), hostname, () => {
        broken.end('POST /events HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nten bytes.')
      })
      broken.on('close', () => resolve()).on('error', reject)
      broken.resume()
    })
    expect(await send(secret, new Date(now))).toEqual({ delivered: true })
    expect((await fetch(url, { method: 'POST', body: 'x'.repeat(5_000_000) })).status).toBe(413)
    expect(await send(secret, new Date(now))).toEqual({ delivered: true })
  })

  it('shows the members that the body of a callback has', async () => {
    const [, shown = '{}'] = /```json\n(\{[\s\S]*?)```/.exec(page) ?? []
    const bodies: string[] = []
    const recording = (request: Parameters<typeof outbound>[0]) => {
      bodies.push(Buffer.from(request.body ?? '').toString())
      return Promise.resolve({ status: 204, headers: {}, body: new Uint8Array(0) })
    }
    const sessionCallback = resolveSessionCallback({ url: 'http://127.0.0.1/events', secret })
    const event = { id: 'e1', type: 'verification.succeeded', at: 0, queuedAt: 0 }
    await postCallback({ sessionCallback, outbound: recording }, event, { session_id: 's1' }, new Date())
    const namesOf = (text: string) => Object.keys(JSON.parse(text) as object)
    expect(namesOf(bodies[0] ?? '{}')).toEqual(namesOf(shown))
  })

  it('lists the types that callbacks carry', () => {
    const table = page.split('\n').filter((line) => line.startsWith('| `'))
    const listed = table.flatMap((row) =>
      [...(row.split('|')[1] ?? '').matchAll(/`([a-z.]+)`/g)].map(([, type]) => type),
    )
    const carried = Object.entries(eventTypes).flatMap(([type, { isPosted }]) => (isPosted ? [type] : []))
    expect(listed.sort()).toEqual(carried.sort())
  })
})
