import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { findServiceProblems } from './ask-services.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

/** Starts a service that takes one key, and returns its URL. */
async function startService(): Promise<string> {
  const server = createServer(({ headers }, response) => {
    response.writeHead(headers.authorization === 'Bearer the-key' ? 200 : 401).end('{}')
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

it('a console says nothing of services that answer and take its keys', async () => {
  const url = await startService()
  expect(await findServiceProblems({ issuer: { url, apiKey: 'the-key' } }, fetch)).toEqual([])
})

it('a console says which service refuses its key, and which does not answer', async () => {
  const [issuer, stopped] = [await startService(), await startService()]
  servers.pop()?.close()
  const engines = [{ url: stopped }]
  expect(await findServiceProblems({ issuer: { url: issuer, apiKey: 'another-key' }, engines }, fetch)).toEqual([
    `${issuer} refuses the API key of this console; start the console again with a key of its integrations.authentication in VOUCHSAFE_ISSUER_API_KEY.`,
    `The engine at ${stopped} does not answer; look at its log, and whether it runs.`,
  ])
})
