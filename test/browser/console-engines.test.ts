/**
 * The pages of engines in the console: engines that are processes of their own, on a local chain, with real components.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { parseAddress } from '../../src/offchain/address.ts'
import { vouchsafe } from '../support/command.ts'
import { ROOT } from '../support/documents.ts'
import { type EngineProcess, makeDirectory, makeEngine, waitUntilServed } from '../support/engine-process.ts'
import { type Services, startServices } from '../support/services.ts'
import { describeInBrowser, faultsInAnyColours, keepPicture, PHONE } from './browser.ts'
import { type ConsoleCommand, startConsoleCommand } from './console-page.ts'

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 })

const HELLO = join(ROOT, 'dist/components/hello.js')

describeInBrowser('the engines in the console', (openWindow) => {
  let services: Services
  let command: ConsoleCommand
  let dir: string
  let engines: readonly [EngineProcess, EngineProcess]
  let address: string

  beforeAll(async () => {
    dir = makeDirectory('chain')
    const chain = { type: 'local', directory: dir }
    engines = [await makeEngine({ chain }), await makeEngine({ chain })]
    for (const engine of engines) await engine.start()
    address = await deploy(HELLO)
    await waitUntilServed(engines, parseAddress(address))
    services = await startServices()
    const listen = (name: 'issuer' | 'verifier') => services[name].listen({ port: 0, host: '127.0.0.1' })
    const words = engines.flatMap(({ url }) => ['--engine', url])
    // The console has the key of the first engine alone.
    const keys = { VOUCHSAFE_ENGINE_API_KEYS: keyOf(engines[0]) }
    command = await startConsoleCommand(await listen('issuer'), await listen('verifier'), words, keys)
  })
  afterAll(async () => {
    command.child.kill('SIGKILL')
    await services.close()
    for (const engine of engines) await engine.remove()
  })

  /** Deploys the contract with a component; resolves with its address. */
  async function deploy(component: string): Promise<string> {
    const listed = engines.flatMap(({ url }) => ['--engine', url])
    const words = ['chain', 'deploy', 'Hello', '--dir', dir, '--component', component, ...listed, '--json']
    const { stdout } = await vouchsafe(words)
    return (JSON.parse(stdout) as { readonly address: string }).address
  }

  const count = (path = '/count') => fetch(`${engines[0].url}/offchain/${address}${path}`, { method: 'POST' })

  it('show each engine, its contracts, and what their components do', async () => {
    const { page, faults, requests } = await command.open(openWindow, 'engines')
    for (const [index, { url }] of engines.entries()) {
      const card = page.locator(`#engine-${index}`)
      await card.getByText('sees its chain', { exact: true }).waitFor()
      expect(await card.locator('h2').innerText()).toBe(url)
      const row = card.getByRole('row').filter({ has: page.getByRole('link') })
      expect(await row.innerText()).toMatch(/served.*answers requests, acts on changes of its contract/s)
    }
    expect(await page.locator('#engine-0').getByText('no API key of this engine').count()).toBe(0)
    expect(await page.locator('#engine-1').getByText('no API key of this engine').count()).toBe(1)
    expect([faults, requests.filter((url) => url.startsWith(engines[0].url))]).toEqual([[], []])
  })

  it('show the calls of a contract as they come, with what the component logged', async () => {
    const { page, faults } = await command.open(openWindow, `contract/0/${address}`)
    const calls = page.getByRole('table', { name: 'Calls, the latest first' })
    await calls.getByText('the greeting is').first().waitFor()
    const logged = calls.locator('tbody tr').last().locator('summary')
    await logged.click()
    await logged.focus()
    await count()
    await calls.getByText('POST /count').waitFor()
    expect(await calls.locator('tbody tr').first().innerText()).toMatch(/POST \/count.*done: 200/s)
    await vouchsafe(['chain', 'send', address, 'setGreeting', 'Good day', '--dir', dir])
    await calls.getByText('the greeting is Good day').waitFor()
    // The section that a person closed is closed still, and has the focus.
    expect(await logged.locator('..').getAttribute('open')).toBeNull()
    expect(await logged.evaluate((node) => node === document.activeElement)).toBe(true)
    keepPicture('console-contract', await page.screenshot({ fullPage: true }))
    expect(faults).toEqual([])
  })

  it('say of an engine without a key what everybody may know, and how to learn the rest', async () => {
    const { page } = await command.open(openWindow, 'engines')
    await page.locator('#engine-1').getByRole('link').first().click()
    await page.getByText('by VOUCHSAFE_ENGINE_API_KEYS').waitFor()
    expect(await page.getByRole('table').count()).toBe(0)
  })

  it('say which component cannot be run and why, and which engine does not answer, on the first page too', async () => {
    const noComponent = join(dir, 'no-component.js')
    writeFileSync(noComponent, 'what is this')
    const broken = await deploy(noComponent)
    const overview = await command.open(openWindow, 'overview')
    await overview.page.getByText('cannot serve some of its contracts now: 1').first().waitFor()
    const { page } = await command.open(openWindow, 'engines')
    const row = page
      .locator('#engine-0')
      .getByRole('row')
      .filter({ hasText: broken.slice(0, 8) })
    expect(await row.innerText()).toMatch(/cannot be run\s+\S.{10}/s)

    await engines[1].kill()
    await page.locator('#engine-1').getByText('does not answer', { exact: true }).waitFor()
    await overview.page.getByText(`The engine ${engines[1].url} does not answer`).waitFor()
    keepPicture('console-engines', await page.screenshot({ fullPage: true }))
    await overview.page.getByRole('link', { name: 'See the engines' }).first().click()
    await overview.page.getByRole('heading', { name: 'Engines' }).waitFor()
    await engines[1].start()
    await page.locator('#engine-1').getByText('sees its chain', { exact: true }).waitFor()
  })

  it('have nothing that axe finds at a desk and on phones, also a narrow one', async () => {
    await count('/none')
    for (const wanted of ['engines', `contract/0/${address}`, `contract/1/${address}`]) {
      for (const options of [{}, PHONE, { ...PHONE, viewport: { width: 320, height: 700 } }]) {
        const opened = await command.open(openWindow, wanted, options)
        await opened.page.locator('.card .state').first().waitFor()
        expect(await faultsInAnyColours(opened)).toEqual([])
      }
    }
  })
})

function keyOf({ directory }: EngineProcess): string {
  const text = readFileSync(join(directory, 'conf', 'server.json'), 'utf8')
  const { integrations } = JSON.parse(text) as { readonly integrations: { readonly authentication: object } }
  return Object.keys(integrations.authentication)[0] ?? ''
}
