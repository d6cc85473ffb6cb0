/** `vouchsafe chain serve`: whom it answers, what it answers, and how much of it. */
import { once } from 'node:events'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createChainServer, serveChain } from '../../src/bin/chain/serve.ts'
import { type JsonRpc, JsonRpcError } from '../../src/chain/json-rpc.ts'

const MIB = 1024 * 1024
const JSON_TYPE = { 'content-type': 'application/json' }

interface Answer {
  readonly status: number | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** Starts a server of methods that are named after what they do; `done` has what was asked for. */
async function served() {
  const done: string[] = []
  const rpc: JsonRpc = (method, [size]) => {
    done.push(method)
    if (method === 'break') return Promise.reject(new TypeError('a mistake of the chain'))
    if (method === 'unreadable') return Promise.reject(new JsonRpcError(3, 'reverted', 1n))
    if (method === 'fail') return Promise.reject(new JsonRpcError(3, 'reverted', 'x'.repeat(Number(size))))
    return Promise.resolve(method === 'give' ? 'x'.repeat(Number(size)) : method)
  }
  const server = createChainServer(rpc)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const post = async (body: unknown, headers: Record<string, string> = {}, method = 'POST'): Promise<Answer> => {
    const asked = request({ port, host: '127.0.0.1', method, headers: { ...JSON_TYPE, ...headers } })
    asked.end(typeof body === 'string' ? body : JSON.stringify(body))
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    const parts: Buffer[] = []
    for await (const part of response as AsyncIterable<Buffer>) parts.push(part)
    return { status: response.statusCode, headers: response.headers, body: Buffer.concat(parts).toString('utf8') }
  }
  const ask = async (body: unknown): Promise<unknown> => JSON.parse((await post(body)).body)
  return { server, port, done, post, ask }
}

const give = (id: unknown, size: number) => ({ jsonrpc: '2.0', id, method: 'give', params: [size] })

it('says of a port that is in use what to do', async () => {
  const { port } = await served()
  await expect(serveChain(() => Promise.resolve(null), port)).rejects.toMatchObject({
    message: `--port: ${port} is in use; name another`,
    cause: { code: 'EADDRINUSE' },
  })
})

it('answers a batch in its order, and each by its id', async () => {
  const { ask } = await served()
  const ids = ['a', 7, 0, '', null, 1.5]
  const answers = await ask(ids.map((id) => ({ jsonrpc: '2.0', id, method: 'echo' })))
  expect(answers).toEqual(ids.map((id) => ({ jsonrpc: '2.0', id, result: 'echo' })))
})

it('does not answer a notification, and does what it says', async () => {
  const { post, ask, done } = await served()
  for (const asked of [{ method: 'first' }, [{ method: 'second' }, { method: 'fail', params: [1] }]])
    expect(await post(asked)).toMatchObject({ status: 204, body: '' })
  expect(done).toEqual(['first', 'second', 'fail'])
  const answers = await ask([{ method: 'third' }, { id: 1, method: 'fourth' }])
  expect(answers).toEqual([{ jsonrpc: '2.0', id: 1, result: 'fourth' }])
})

it.each<[string, unknown]>([
  ['an object as its id', { id: {}, method: 'echo' }],
  ['a list as its id', { id: [1], method: 'echo' }],
  ['a truth as its id', { id: true, method: 'echo' }],
  ['no method', { foo: 1 }],
  ['no object', 7],
])('refuses a request with %s, by the id null', async (_, asked) => {
  const { ask, done } = await served()
  const refused = { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'it is not a request' } }
  expect(await ask(asked)).toEqual(refused)
  expect(await ask([asked])).toEqual([refused])
  expect(done).toEqual([])
})

it('gives 16 MiB in one answer; what does not fit any more is refused by its id, and not done', async () => {
  const { ask, done } = await served()
  const tooLarge = { code: -32003, message: expect.stringContaining('too large') as string }
  expect(await ask(give(1, 15 * MIB))).toMatchObject({ id: 1, result: expect.any(String) as string })
  expect(await ask(give(2, 17 * MIB))).toMatchObject({ id: 2, error: tooLarge })
  expect(await ask({ ...give(3, 17 * MIB), method: 'fail' })).toMatchObject({ id: 3, error: tooLarge })
  done.length = 0
  const answers = await ask([give(1, 9 * MIB), give(2, 9 * MIB), { id: 3, method: 'send' }, { id: 4, method: 'send' }])
  expect(answers).toMatchObject([
    { id: 1 },
    { id: 2, error: tooLarge },
    { id: 3, error: tooLarge },
    { id: 4, error: tooLarge },
  ])
  expect(done).toEqual(['give', 'give'])
})

it('answers 500 that are asked at once', async () => {
  const { ask } = await served()
  const answers = await Promise.all(Array.from({ length: 500 }, (_, id) => ask(give(id, 1))))
  expect(answers).toEqual(answers.map((_, id) => ({ jsonrpc: '2.0', id, result: 'x' })))
})

it('holds no more than 256 MiB of requests that are not whole, and answers when they are gone', async () => {
  const { port, ask, server } = await served()
  const head = `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${2 * MIB}\r\n\r\n`
  const sockets = Array.from({ length: 150 }, () => connect(port, '127.0.0.1'))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  let refused = 0
  for (const socket of sockets) {
    socket.on('error', () => undefined)
    socket.on('data', (text) => {
      refused += text.toString().includes('503') ? 1 : 0
    })
    socket.write(head + ' '.repeat(2 * MIB - 1))
  }
  await expect.poll(() => refused).toBeGreaterThanOrEqual(22)
  expect(refused).toBeLessThan(40)
  for (const socket of sockets) socket.destroy()
  await expect
    .poll(() => ask(give(1, MIB)).catch(() => undefined))
    .toMatchObject({ result: expect.any(String) as string })
  expect(server.maxConnections).toBe(1000)
  expect([server.requestTimeout, server.headersTimeout <= 30_000, server.timeout]).toEqual([30_000, true, 70_000])
})

it('holds no more than 256 MiB of answers that nobody reads', async () => {
  const { port, ask } = await served()
  const body = JSON.stringify(give(1, 15 * MIB))
  const head = `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
  const sockets = Array.from({ length: 20 }, () => connect(port, '127.0.0.1').pause())
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (const socket of sockets) socket.write(head + body)
  const tooLarge = { error: { code: -32003 } }
  await expect.poll(() => ask(give(2, 15 * MIB))).toMatchObject(tooLarge)
  expect(await ask({ id: 3, method: 'send' })).toMatchObject({ result: 'send' })
  for (const socket of sockets) socket.destroy()
  await expect.poll(() => ask(give(4, 15 * MIB))).toMatchObject({ result: expect.any(String) as string })
})

it.each([
  ['127.0.0.1', 200],
  ['127.0.0.1:8545', 200],
  ['localhost:1', 200],
  ['LOCALHOST', 200],
  ['[::1]:8545', 200],
  ['rebound.example', 403],
  ['rebound.example:8545', 403],
  ['localhost.example', 403],
  ['127.0.0.1.example:8545', 403],
  ['localhost@rebound.example', 403],
  ['192.168.0.1', 403],
])('asked as the host %o answers %i', async (host, status) => {
  const { post, done } = await served()
  expect((await post(give(1, 1), { host })).status).toBe(status)
  expect(done).toHaveLength(status === 200 ? 1 : 0)
})

it.each([
  ['http://localhost:3000', 200],
  ['https://127.0.0.1', 200],
  ['http://[::1]:5173', 200],
  ['chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn', 200],
  ['moz-extension://5e6b8a3c-0000-4000-8000-000000000000', 200],
  ['https://dapp.example', 403],
  ['http://localhost.example', 403],
  ['null', 403],
])('asked by a page of the origin %s answers %i', async (origin, status) => {
  const { post, done } = await served()
  expect((await post(give(1, 1), { origin })).status).toBe(status)
  expect(done).toHaveLength(status === 200 ? 1 : 0)
})

it('lets the browser give a page of this machine what it asked for, after a preflight, and no page of another host', async () => {
  const { post, done } = await served()
  const origin = 'http://localhost:3000'
  const preflight = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' }
  expect(await post('', { origin, ...preflight }, 'OPTIONS')).toMatchObject({
    status: 204,
    headers: {
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'content-type',
      vary: 'origin',
    },
  })
  expect(done).toEqual([])
  const answers = [await post(give(1, 1), { origin }), await post('', { origin }, 'GET')]
  expect(answers.map(({ status }) => status)).toEqual([200, 405])
  for (const { headers } of answers) expect(headers['access-control-allow-origin']).toBe(origin)

  const foreign = await post('', { origin: 'https://dapp.example', ...preflight }, 'OPTIONS')
  expect([foreign.status, foreign.headers['access-control-allow-origin']]).toEqual([403, undefined])
  const rebound = await post('', { origin, host: 'rebound.example', ...preflight }, 'OPTIONS')
  expect(rebound.status).toBe(403)
  expect((await post('', {}, 'OPTIONS')).status).toBe(405)
})

it.each([
  ['application/json', 200],
  ['Application/JSON; charset=utf-8', 200],
  ['text/plain', 415],
  ['text/plain; application/json', 415],
  ['application/x-www-form-urlencoded', 415],
  ['', 415],
])('asked with the content type %o answers %i', async (type, status) => {
  const { post, done } = await served()
  expect((await post(give(1, 1), { 'content-type': type })).status).toBe(status)
  expect(done).toHaveLength(status === 200 ? 1 : 0)
})

it('says what to do to whom it refuses', async () => {
  const { post } = await served()
  expect((await post('', {}, 'GET')).status).toBe(405)
  expect((await post('', { 'content-type': 'text/plain' })).body).toContain('application/json')
  expect((await post('', { host: 'rebound.example' })).body).toContain('http://127.0.0.1')
  expect((await post('', { origin: 'https://dapp.example' })).body).toContain('localhost')
  expect((await post('x'.repeat(2 * MIB + 1))).status).toBe(413)
  expect(JSON.parse((await post('{')).body)).toMatchObject({ id: null, error: { code: -32700 } })
})

/** Returns what is written to stderr from now to the end of the test. */
function heardErrors(): () => string {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  onTestFinished(() => write.mockRestore())
  return () => write.mock.calls.map(([text]) => String(text)).join('')
}

it('writes what a method threw with its stack to the terminal, and answers with its message', async () => {
  const { ask } = await served()
  const heard = heardErrors()
  const error = { code: -32603, message: 'a mistake of the chain' }
  expect(await ask({ id: 1, method: 'break' })).toMatchObject({ id: 1, error })
  expect(heard()).toMatch(/^The chain failed to answer a request: TypeError: a mistake of the chain\n +at /)
})

it('answers 500 when it fails, and writes why to the terminal', async () => {
  const { post, ask } = await served()
  const heard = heardErrors()
  const answer = await post({ id: 1, method: 'unreadable' })
  expect(answer.status).toBe(500)
  expect(answer.body).toMatch(/^The chain failed to answer a request: the terminal/)
  expect(heard()).toMatch(/^The chain failed to answer a request: TypeError: .*BigInt.*\n +at /)
  expect(await ask({ id: 2, method: 'echo' })).toMatchObject({ id: 2, result: 'echo' })
})

it('writes nothing to the terminal of a client that ends its request', async () => {
  const { port, server } = await served()
  const heard = heardErrors()
  const socket = connect(port, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{')
  const [, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
  socket.destroy()
  await once(response, 'close')
  await new Promise(setImmediate)
  expect(heard()).toBe('')
})
