/** Formats a verification report: all checks with their outcomes, and the disclosed claims. */

import { removeControlCharacters } from '../../codec/control-characters.ts'
import { isObject, type Json } from '../../codec/json.ts'
import type { DescribedCheckResult, DescribedReport } from '../../verifier/check-descriptions.ts'
import { hangingIndent, paint } from '../terminal/terminal.ts'
import { INDENT } from './narrator.ts'

/** The number of shown characters of a fingerprint. */
const FINGERPRINT_SHOWN = 16
const COLOURS = {
  passed: 'green',
  failed: 'red',
  warning: 'yellow',
  not_applicable: 'dim',
  not_run: 'dim',
} as const

/** Formats all checks of the response and of each credential. */
export function reportLines({ checks, credentials }: DescribedReport): string[] {
  const groups = Object.entries(credentials).flatMap(([id, reports]) =>
    reports.map((report) => ({ title: `The credential "${removeControlCharacters(id)}"`, checks: report.checks })),
  )
  return [{ title: 'The response', checks }, ...groups].flatMap((group) => {
    const width = Math.max(...group.checks.map(({ outcome }) => outcome.length))
    return ['', `${INDENT}${group.title}`, ...group.checks.map((check) => checkText(check, width))]
  })
}

/** Formats the issuer of each credential, one per line: its certificate and its trust anchor. */
export function issuerLines({ credentials }: DescribedReport): string[] {
  return Object.values(credentials).flatMap((reports) =>
    reports.flatMap(({ issuer_certificate: certificate }) => {
      if (certificate === undefined) return []
      const { subject, sha256, anchor } = certificate
      const under = anchor === undefined ? '' : `, under the trust anchor ${anchor.subject}`
      const text = `${subject}${under} (SHA-256 ${sha256.slice(0, FINGERPRINT_SHOWN)}…)`
      return [hangingIndent(INDENT, INDENT.length, text)]
    }),
  )
}

/** Formats the disclosed claims, one per line. */
export function claimLines({ credentials }: DescribedReport): string[] {
  return Object.values(credentials).flatMap((reports) =>
    reports.flatMap(({ claims = {} }) => leafLines(claims, '').map((line) => `${INDENT}${line}`)),
  )
}

/** Formats the failed checks as `id: why`. */
export function failureLines({ checks, credentials }: DescribedReport): string[] {
  const all = [
    ...checks,
    ...Object.values(credentials).flatMap((reports) => reports.flatMap((report) => report.checks)),
  ]
  return all
    .filter(({ outcome }) => outcome === 'failed')
    .map(({ id, detail }) => `${id}: ${detail ?? 'it does not hold'}`)
}

/** Formats the question of a check and its detail; with the id if it did not pass. */
function checkText({ id, asks, outcome, detail }: DescribedCheckResult, outcomeWidth: number): string {
  const head = `${INDENT}${paint(COLOURS[outcome], outcome.replace('_', ' ').padEnd(outcomeWidth))}  `
  const width = INDENT.length + outcomeWidth + 2
  const question = hangingIndent(head, width, asks)
  const answer = [...(outcome === 'passed' ? [] : [id]), ...(detail === undefined ? [] : [detail])].join(': ')
  return answer === '' ? question : `${question}\n${paint('dim', hangingIndent(' '.repeat(width), width, answer))}`
}

function leafLines(value: Json, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((element, index) => leafLines(element, `${path}[${index}]`))
  if (!isObject(value)) return [removeControlCharacters(`${path}: ${String(value)}`)]
  return Object.entries(value).flatMap(([name, member]) => leafLines(member, path === '' ? name : `${path}.${name}`))
}
