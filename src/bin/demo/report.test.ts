import { describe, expect, it } from 'vitest'
import { removeControlCharacters } from '../../codec/control-characters.ts'
import type { DescribedReport } from '../../verifier/check-descriptions.ts'
import { createNarrator } from './narrator.ts'
import { claimLines, issuerLines, reportLines } from './report.ts'

const evil = '\u001b[2J\u202e'
const report = {
  checks: [{ id: 'a', asks: `Is ${evil} it?`, outcome: 'failed', detail: `no: ${evil}` }],
  credentials: {
    [evil]: [
      {
        checks: [],
        issuer_certificate: { subject: `CN=${evil}`, sha256: 'ab'.repeat(32) },
        claims: { [evil]: [evil] },
      },
    ],
  },
} as unknown as DescribedReport

describe('what the demo shows of strangers', () => {
  it('does not steer the terminal: reports and claims', () => {
    for (const line of [...reportLines(report), ...issuerLines(report), ...claimLines(report)]) {
      expect(removeControlCharacters(line.replaceAll('\n', ''))).toBe(line.replaceAll('\n', ''))
    }
    expect(claimLines(report).join()).toContain('\ufffd[2J')
    expect(issuerLines(report).join()).toMatch(/CN=\ufffd\[2J.* \(SHA-256 (ab){8}…\)/s)
  })

  it('does not steer the terminal: steps', () => {
    let shown = ''
    const narrator = createNarrator((text) => {
      shown += text
    })
    narrator.tellStep({ who: 'The wallet', what: `chose the ${evil}`, means: evil })
    narrator.addLine('link', evil)
    expect(shown).toContain('chose the \ufffd[2J')
    expect(removeControlCharacters(shown.replaceAll('\n', ''))).toBe(shown.replaceAll('\n', ''))
  })
})
