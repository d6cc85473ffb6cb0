/** The findings of `vouchsafe doctor` about the settings of a service as a whole. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { filesBelow } from '../support/command.ts'
import { examine, itFinds, makeServiceFiles } from '../support/doctor.ts'

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
    ['HAIP that is incomplete', 'issuer', () => ({ profile: 'haip' }), 'profile', 'note', /see the problems/],
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
