/**
 * A presentation through a real browser: an application's page, the verifier, and Chromium, whose wallet gives what the
 * reference wallet made for the page's origin.
 */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createIssuerClient, createVerifierClient } from '../../sdk/server/index.ts'
import { makeResponse, planPresentation } from '../../src/wallet/present.ts'
import { receiveOffer } from '../../src/wallet/receive.ts'
import { freePort } from '../support/free-port.ts'
import { mdocConfiguration, mdocDataset, mdocQuery } from '../support/mdoc.ts'
import { serviceDirectory, startForTest } from '../support/service-process.ts'
import { API_KEY } from '../support/services.ts'
import { testWallet } from '../support/wallet.ts'
import { startApplication } from './application.ts'
import { describeInBrowser } from './browser.ts'
import { setVirtualWallet } from './virtual-wallet.ts'

const VCT = 'urn:example.edu:student-card'
const cardQuery = {
  credentials: [{ id: 'card', format: 'dc+sd-jwt', meta: { vct_values: [VCT] }, claims: [{ path: ['given_name'] }] }],
}

describeInBrowser('a presentation through the browser', (openWindow) => {
  it.each([
    ['dc+sd-jwt', { format: 'dc+sd-jwt', vct: VCT }, { given_name: 'Ada' }, cardQuery],
    ['mso_mdoc', mdocConfiguration, mdocDataset, mdocQuery],
  ])('reaches the verifier: %s', { timeout: 600_000 }, async (_, configuration, dataset, query) => {
    const { issuer, verifier, verifierUrl } = await startServices()
    const application = await startApplication(verifierUrl)
    const { wallet } = testWallet(fetch, { now: new Date() })
    const offer = await issuer.startSession({
      credential_configurations: [await issuer.createConfiguration(configuration)],
      credential_dataset: dataset,
    })
    await receiveOffer(wallet, offer.credential_offer_uri)

    const session = await verifier.startSession({
      verification_query_id: await verifier.createQuery(query),
      origin: application.url,
      link: false,
    })
    const { session_id: id, digital_credentials_uri: uri = '' } = session
    const { page, faults } = await openWindow()
    await page.goto(application.page({ attributes: { 'digital-credentials': uri, 'status-url': '/status' } }))
    const ask = page.getByRole('button', { name: 'Use a wallet' })
    await ask.waitFor()

    const plan = await planPresentation(wallet, uri, application.url)
    const { recipient } = plan.request
    if (!('origin' in recipient)) throw new Error('the response goes to no page')
    const response = await makeResponse(wallet, plan)
    await setVirtualWallet(page, { action: 'respond', protocol: recipient.protocol, response })
    await ask.click()
    const { status, result, response_mode: mode } = await verifier.waitForSession(id)
    expect([status, result?.verified, mode]).toEqual(['VERIFICATION_SUCCEEDED', true, 'dc_api.jwt'])
    application.answer = { status }
    await page.getByText('Done: your credential was accepted').waitFor()
    expect(faults).toEqual([])
    application.close()
  })
})

async function startServices() {
  const [issuer, verifier] = [await directoryOf('issuer'), await directoryOf('verifier')]
  copyFileSync(join(issuer, 'issuer.pem'), join(verifier, 'anchors', 'issuer.pem'))
  const { url: issuerUrl } = await startForTest('issuer', issuer)
  const { url: verifierUrl } = await startForTest('verifier', verifier)
  return {
    issuer: createIssuerClient({ url: issuerUrl, apiKey: API_KEY }),
    verifier: createVerifierClient({ url: verifierUrl, apiKey: API_KEY }),
    verifierUrl,
  }
}

async function directoryOf(name: 'issuer' | 'verifier'): Promise<string> {
  const port = await freePort()
  return serviceDirectory(name, { port, baseUrl: `http://127.0.0.1:${port}` })
}
