/** The findings of `vouchsafe doctor` about the settings of a service as a whole. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { filesBelow } from '../support/command.ts'
import { examine, itFinds, makeServiceFiles } from '../support/doctor.ts'

const ISSUER_URL = 'https://issuer.example'

describe('vouchsafe doctor finds', () => {
  itFinds([
    [
      'HAIP without what asks people',
      'issuer',
      () => ({ profile: 'haip' }),
      'authentication',
      'problem',
      /interactionUrl/,
    ],
    [
      'HAIP without providers of wallets',
      'issuer',
      () => ({ profile: 'haip' }),
      'walletProviderTrustAnchors',
      'problem',
      /name a directory/,
    ],
    ['HAIP with a self-signed certificate', 'issuer', () => ({ profile: 'haip' }), 'signing', 'problem', /of a CA/],
    ['a verifier by HAIP with such a one', 'verifier', () => ({ profile: 'haip' }), 'signing', 'problem', /of a CA/],
    ['HAIP that is incomplete', 'issuer', () => ({ profile: 'haip' }), 'profile', 'note', /see the problems/],
    [
      'a verifier by HAIP that is incomplete',
      'verifier',
      () => ({ profile: 'haip' }),
      'profile',
      'note',
      /see the problems/,
    ],
    [
      'more workers than the machine runs at the same time',
      'issuer',
      () => ({ workers: 256 }),
      'workers',
      'problem',
      /say a number from 1 to/,
    ],
    ['a setting that is unknown', 'issuer', () => ({ prot: 1 }), 'prot', 'problem', /unknown/],
    [
      'a setting of the other service',
      'verifier',
      () => ({ compatibility: [] }),
      'compatibility',
      'problem',
      /unknown setting/,
    ],
  ])

  itFinds([
    [
      'an issuer that others can reach under the name of the example',
      'issuer',
      () => ({ baseUrl: ISSUER_URL, issuer: { id: ISSUER_URL, display: { name: 'Example Issuer' } } }),
      'issuer.display.name',
      'warning',
      /still "Example Issuer", which wallets show/,
    ],
    [
      'a verifier that others can reach under the name of the example',
      'verifier',
      () => ({ baseUrl: 'https://verifier.example', clientMetadata: { clientName: 'Example Verifier' } }),
      'clientMetadata.clientName',
      'warning',
      /still "Example Verifier", which wallets show/,
    ],
  ])

  it('nothing in the name of an example on this machine, nor in a name of your own', async () => {
    const service = await makeServiceFiles('issuer')
    const warns = async (baseUrl: string, name: string) => {
      Object.assign(service.settings, { baseUrl, issuer: { id: ISSUER_URL, display: { name } } })
      return (await examine(service)).some(({ subject }) => subject === 'issuer.display.name')
    }
    expect(await warns('http://127.0.0.1:8079', 'Example Issuer')).toBe(false)
    expect(await warns(ISSUER_URL, 'University')).toBe(false)
    expect(await warns(ISSUER_URL, 'Example Issuer')).toBe(true)
  })

  it('no problem in what init wrote, and makes nothing', async () => {
    for (const service of ['issuer', 'verifier'] as const) {
      const it = await makeServiceFiles(service)
      const before = filesBelow(it.directory)
      const findings = await examine(it)
      expect(findings.filter(({ outcome }) => outcome === 'problem')).toEqual([])
      expect(new Set(findings.map((finding) => JSON.stringify(finding))).size).toBe(findings.length)
      expect(findings).toContainEqual({ subject: 'settings', outcome: 'ok', text: 'every one is known and complete' })
      expect(filesBelow(it.directory)).toEqual(before)
      expect(existsSync(join(it.directory, 'data'))).toBe(false)
    }
  })

  it('every mistake at once, and looks at the parts that can be read', async () => {
    const it = await makeServiceFiles('verifier')
    Object.assign(it.settings, { prot: 1, port: 'x', baseUrl: 'http://a.example/', issuerTrustAnchors: '/nowhere' })
    it.settings.signing = { keyFile: join(it.directory, 'nope'), certificateFiles: [] }
    const findings = await examine(it)
    const problems = findings.filter(({ outcome }) => outcome === 'problem').map(({ subject }) => subject)
    expect(problems.sort()).toEqual(['baseUrl', 'issuerTrustAnchors', 'port', 'prot', 'signing.certificateFiles'])
    expect(findings.map(({ subject }) => subject)).toContain('database')
  })
})
