/**
 * A log that nobody reads: the service goes on, what does not fit is counted, and what was logged is there in the end.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { Agent, type RequestOptions, request } from 'node:http'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { COMMAND, temporaryDirectory } from '../support/command.ts'
import { freePort } from '../support/free-port.ts'
import { serviceDirectory } from '../support/service-process.ts'
import { API_KEY } from '../support/services.ts'

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** More long lines than a pipe and the buffer have room for: each tells the name of what is not there. */
const REQUESTS = 500
const LONG_NAME = 'a'.repeat(5000)

interface LogLine {
  readonly event: string
  readonly count?: number
}

/** Starts a service that logs into a pipe; `read` takes what is in the pipe now. */
async function started() {
  const path = join(temporaryDirectory(), 'log')
  execFileSync('mkfifo', [path])
  const ours = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  const theirs = openSync(path, constants.O_WRONLY)
  const port = await freePort()
  const cwd = await serviceDirectory('issuer', { port })
  const child = spawn(process.execPath, [COMMAND, 'issuer'], { cwd, stdio: ['ignore', theirs, 'ignore'] })
  closeSync(theirs)
  children.push(child)
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const url = `http://127.0.0.1:${port}`
  await expect.poll(() => statusOf(`${url}/health/live`)).toBe(200)
  return { child, ended, url, read: () => readNow(ours) }
}

it('of which the reader stands still costs no answer, and tells how much was dropped when it is read again', async () => {
  const { child, ended, url, read } = await started()
  expect(await refusals(url)).toBe(REQUESTS)
  let text = ''
  const lines = () =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as LogLine)
  const dropped = () => lines().find(({ event }) => event === 'log_lines_dropped')?.count
  await expect
    .poll(
      () => {
        text += read()
        return dropped()
      },
      { timeout: 30_000, interval: 20 },
    )
    .toBeGreaterThan(0)
  expect(lines().filter(({ event }) => event === 'refused').length + (dropped() ?? 0)).toBe(REQUESTS)
  expect(lines().map(({ event }) => event)).toContain('listening')
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
  text += read()
  expect(lines().at(-1)?.event).toBe('stopped')
}, 90_000)

it('of which the reader stands still for ever keeps no service from stopping', async () => {
  const { child, ended, url } = await started()
  expect(await refusals(url)).toBe(REQUESTS)
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
}, 90_000)

it('of which the reader is gone keeps no service from going on', async () => {
  const port = await freePort()
  const cwd = await serviceDirectory('issuer', { port })
  const child = spawn(process.execPath, [COMMAND, 'issuer'], { cwd, stdio: ['ignore', 'pipe', 'ignore'] })
  children.push(child)
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const url = `http://127.0.0.1:${port}`
  await expect.poll(() => statusOf(`${url}/health/live`)).toBe(200)
  child.stdout.destroy()
  expect(await statusOf(`${url}/nowhere`)).toBe(404)
  expect(await statusOf(`${url}/nowhere`)).toBe(404)
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
}, 600_000)

/** Counts the requests that were refused as they should be. */
async function refusals(url: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const body = JSON.stringify({ credential_dataset: {}, credential_configurations: [LONG_NAME] })
  const begin = () => statusOf(`${url}/issuance/oid4vci/new-session`, { method: 'POST', agent }, body)
  const statuses = await Promise.all(Array.from({ length: REQUESTS }, begin))
  agent.destroy()
  return statuses.filter((status) => status === 400).length
}

function statusOf(url: string, options: RequestOptions = {}, body = ''): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
  return new Promise((resolve) => {
    const sentRequest = request(url, { headers, ...options }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode))
    })
    sentRequest.once('error', () => resolve(undefined)).end(body)
  })
}

function readNow(descriptor: number): string {
  const [buffer, parts] = [Buffer.alloc(65_536), [] as string[]]
  for (;;) {
    try {
      parts.push(buffer.toString('utf8', 0, readSync(descriptor, buffer)))
    } catch {
      return parts.join('')
    }
  }
}
