/** The page of the university in the demo, where its issuer does not answer. */
import { expect, it, onTestFinished, vi } from 'vitest'
import { findFreePort } from '../network/network.ts'
import { listenAsPortal } from './portal.ts'

it('answers 500 when the issuer cannot be asked, and writes why to the terminal', async () => {
  const port = await findFreePort(8700)
  const url = 'http://127.0.0.1:1'
  const issuer = { url, baseUrl: url, port: 1, apiKey: 'key', directory: '', close: () => Promise.resolve() }
  const portal = await listenAsPortal(issuer, port)
  onTestFinished(() => portal.close())
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  onTestFinished(() => write.mockRestore())
  const answer = await fetch(`http://127.0.0.1:${port}/?interaction=abc`)
  expect(answer.status).toBe(500)
  expect(await answer.text()).toMatch(/^The page of the university failed to answer a request: the terminal/)
  const heard = write.mock.calls.map(([text]) => String(text)).join('')
  expect(heard).toMatch(/^The page of the university failed to answer a request: \[?TypeError: fetch failed\b.* at /s)
})
