/**
 * The steps of docs/how-to/sign-in.md with the npm package `oidc-provider` as the provider, over real sockets: the
 * provider of the page, the issuer as a process, the reference wallet, and a browser that follows every redirect.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startCommand, temporaryDirectory, vouchsafe } from '../support/command.ts'
import { cookieBrowser } from '../support/cookie-browser.ts'
import { snippetWith } from '../support/documents.ts'
import { freePort } from '../support/free-port.ts'
import { SIGN_IN_PAGE, sendBackTo, startProvider } from '../support/oidc-provider.ts'
import { start } from '../support/service-process.ts'
import { runShell } from '../support/shell.ts'

interface Settings {
  readonly integrations: { readonly authentication: Readonly<Record<string, string>> }
}

/** The address that a form of the page is sent to. */
const actionOf = (page: string): string => /action="([^"]+)"/.exec(page)?.[1] ?? ''

it('a person signs in at oidc-provider, and the wallet has the card of the page', { timeout: 600_000 }, async () => {
  const ports = { provider: await freePort(), issuer: await freePort() }
  await startProvider(ports)
  const [directory, wallet] = [temporaryDirectory(), temporaryDirectory()]
  await runShell(snippetWith(SIGN_IN_PAGE, 'vouchsafe init issuer'), directory)
  const file = join(directory, 'conf/server.json')
  const settings = JSON.parse(readFileSync(file, 'utf8')) as Settings
  const own = snippetWith(SIGN_IN_PAGE, '"issuer": "http://localhost:4000"').replaceAll('4000', `${ports.provider}`)
  const issuer = `http://localhost:${ports.issuer}`
  const changed = { ...settings, ...(JSON.parse(own) as object), port: ports.issuer, baseUrl: issuer }
  writeFileSync(file, JSON.stringify(changed))
  const { child } = await start('issuer', directory)
  onTestFinished(() => void child.kill('SIGKILL'))

  const [declare = '', receive = ''] = snippetWith(SIGN_IN_PAGE, 'vouchsafe wallet receive').split(/\n(?=vouchsafe)/)
  const [apiKey = ''] = Object.keys(settings.integrations.authentication)
  await runShell(declare.replaceAll('8079', `${ports.issuer}`), directory, { API_KEY: apiKey })
  const words = receive.replaceAll('8079', `${ports.issuer}`).trim().split(' ').slice(1)
  const env = { VOUCHSAFE_WALLET_HOME: wallet }
  const receiving = startCommand([...words, '--no-browser'], { env })
  let said = ''
  receiving.child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()))
  await expect.poll(() => said, { timeout: 30_000 }).toMatch(/http:\/\/localhost:\d+\/auth\/authorize\?\S+/)
  const [address = ''] = /http:\/\/localhost:\d+\/auth\/authorize\?\S+/.exec(said) ?? []

  const { open, pages } = cookieBrowser()
  const page = await open(address)
  expect(page).toContain('a program on this device')
  const link = /href="(\/auth\/sign-in\/start[^"]+)"/.exec(page)?.[1] ?? ''
  const login = await open(new URL(link, issuer).href)
  const consent = await open(actionOf(login), { prompt: 'login', login: 'ada', password: 'any' })
  await open(actionOf(consent), { prompt: 'consent' })
  expect(pages).toHaveLength(4)

  const { status, stderr } = await receiving.ended
  expect([status, stderr]).toEqual([0, expect.any(String)])
  const list = JSON.parse((await vouchsafe(['wallet', 'list', '--json'], { env })).stdout) as {
    readonly credentials: readonly { readonly id: string }[]
  }
  const [{ id } = { id: '' }] = list.credentials
  const shown = (await vouchsafe(['wallet', 'show', id, '--json'], { env })).stdout
  for (const text of ['Ada', 'Lovelace', 'ada@example.edu', 'Example University']) expect(shown).toContain(text)
})

it('a person signs in to the console at oidc-provider, and another may not', { timeout: 600_000 }, async () => {
  const ports = { provider: await freePort(), issuer: await freePort() }
  const port = await freePort()
  const redirectUri = `http://127.0.0.1:${port}/sign-in/answer`
  await startProvider(ports, sendBackTo(redirectUri))
  const [, command = ''] = snippetWith('docs/console.md', 'VOUCHSAFE_CONSOLE_CLIENT_SECRET').split(/\n(?=vouchsafe)/)
  const words = command
    .replaceAll('\\\n', '')
    .replace('https://login.example.edu', `http://localhost:${ports.provider}`)
    .replace('--client-id console', '--client-id vouchsafe')
    .trim()
    .split(/\s+/)
    .slice(1)
  const env = { VOUCHSAFE_ISSUER_API_KEY: 'a-key', VOUCHSAFE_CONSOLE_CLIENT_SECRET: 'a secret for trying' }
  const { child } = startCommand([...words, '--port', `${port}`], { env })
  onTestFinished(() => void child.kill('SIGKILL'))
  const address = `http://127.0.0.1:${port}`
  await expect
    .poll(
      () =>
        fetch(address).then(
          ({ status }) => status,
          () => 0,
        ),
      { timeout: 30_000 },
    )
    .toBe(401)

  const enter = async (login: string) => {
    const { open, last } = cookieBrowser()
    const form = await open(`${address}/sign-in/start`)
    const consent = await open(actionOf(form), { prompt: 'login', login, password: 'any' })
    await open(actionOf(consent), { prompt: 'consent' }).catch(() => undefined)
    return last()
  }
  expect(await enter('ada')).toMatchObject({
    status: 200,
    text: expect.stringContaining('You are signed in') as string,
  })
  expect(await enter('eve')).toMatchObject({ status: 403, text: expect.stringContaining('other people') as string })
})
