/** The commands of docs/how-to/show-a-credential.md: a person shows a card, and the wallet gets another. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createIssuerClient } from '../sdk/server/index.ts'
import { startCommand, temporaryDirectory, vouchsafe } from './support/command.ts'
import { cookieBrowser } from './support/cookie-browser.ts'
import { snippetWith } from './support/documents.ts'
import { freePort } from './support/free-port.ts'
import { endService, startForTest } from './support/service-process.ts'
import { runShell } from './support/shell.ts'

const PAGE = 'docs/how-to/show-a-credential.md'

interface Settings {
  readonly integrations: { readonly authentication: Readonly<Record<string, string>> }
}

/** Gives the service in the directory its own port, and returns an API key of it. */
function setPort(directory: string, port: number): string {
  const file = join(directory, 'conf/server.json')
  const settings = JSON.parse(readFileSync(file, 'utf8')) as Settings
  writeFileSync(file, JSON.stringify({ ...settings, port, baseUrl: `http://localhost:${port}` }))
  return Object.keys(settings.integrations.authentication)[0] ?? ''
}

/** Returns the offer of the card that the person is to show. */
async function offerCard(url: string, apiKey: string): Promise<string> {
  const issuer = createIssuerClient({ url, apiKey })
  const configuration = await issuer.createConfiguration({ format: 'dc+sd-jwt', vct: 'urn:example.edu:student-card' })
  const session = await issuer.startSession({
    credential_configurations: [configuration],
    credential_dataset: { given_name: 'Ada', family_name: 'Lovelace' },
  })
  return session.credential_offer_uri
}

it('a person shows a card, and the wallet gets another that is made of it', { timeout: 600_000 }, async () => {
  const ports = { issuer: await freePort(), verifier: await freePort() }
  const [directory, home] = [temporaryDirectory(), temporaryDirectory()]
  const env = { VOUCHSAFE_WALLET_HOME: home }
  const blockWith = (text: string): string =>
    snippetWith(PAGE, text).replaceAll('8079', `${ports.issuer}`).replaceAll('8081', `${ports.verifier}`)
  const issuerUrl = `http://localhost:${ports.issuer}`

  await runShell('vouchsafe init issuer', directory)
  const apiKey = setPort(directory, ports.issuer)
  const before = await startForTest('issuer', directory)
  await vouchsafe(['wallet', 'receive', await offerCard(issuerUrl, apiKey)], { env })
  await runShell(blockWith('vouchsafe init verifier'), directory)
  setPort(join(directory, 'verifier'), ports.verifier)
  await startForTest('verifier', join(directory, 'verifier'))
  await runShell(blockWith('VERIFIER_KEY='), directory)
  await endService(before, 'SIGTERM')
  await startForTest('issuer', directory)

  const [declare = '', receive = ''] = blockWith('wallet receive').split(/\n(?=vouchsafe)/)
  await runShell(declare, directory)
  const receiving = startCommand([...receive.trim().split(' ').slice(1), '--no-browser'], { env })
  let said = ''
  receiving.child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()))
  await expect.poll(() => said, { timeout: 30_000 }).toMatch(/http:\S+\/auth\/authorize\?\S+/)

  const { open } = cookieBrowser()
  const first = await open(/http:\S+\/auth\/authorize\?\S+/.exec(said)?.[0] ?? '')
  const [, start = ''] = /href="([^"]+)"[^>]*>Show a credential from your wallet</.exec(first) ?? []
  const second = await open(new URL(start, issuerUrl).href)
  const [, link = ''] = /href="(haip-vp:[^"]+)"[^>]*>Open the wallet</.exec(second) ?? []
  const present = blockWith('wallet present').replace('haip-vp://…', link.replaceAll('&amp;', '&'))
  const shown = await runShell(`${present.trim()} --yes`, directory, env)
  await open(/Go on at (\S+)/.exec(shown)?.[1] ?? '')

  const { status, stdout } = await receiving.ended
  expect([status, stdout]).toEqual([0, expect.stringMatching(/given_name +Ada\s+.*library +Example Library/)])
  expect(stdout).not.toContain('Lovelace')
})
