/** The report of a verification as a list that can be read. */

import type { VerifierSchemas } from '../sdk/server/index.ts'
import { pathText } from '../src/protocol/claim-path-text.ts'
import { drawTerms, element, sentence } from './dom.ts'

type Result = VerifierSchemas['VerificationResult']
type Check = VerifierSchemas['Check']

/** Gives the labels of the claims of a type, by their paths as JSON. */
export type LabelsOf = (type: readonly string[]) => ReadonlyMap<string, string>

const WORDS: Readonly<Record<string, string>> = {
  passed: 'passed',
  failed: 'failed',
  warning: 'warning',
  not_applicable: 'not applicable',
  not_run: 'not run',
}

/** Draws the outcome, each credential with its claims, and every check with its reason. */
export function drawReport({ verified, trust, checks, credentials }: Result, labelsOf: LabelsOf): HTMLElement {
  const cards = Object.entries(credentials).flatMap(([id, presented]) =>
    presented.map((each) => drawCredential(id, each, labelsOf(each.type ?? []))),
  )
  return element(
    'section',
    { class: 'card' },
    element('h2', {}, 'Report'),
    element(
      'p',
      {},
      element('span', { class: verified ? 'state good' : 'state bad' }, verified ? 'verified' : 'not verified'),
    ),
    trust === 'open' &&
      element(
        'p',
        { class: 'problem' },
        'No trust anchors are configured: anybody may have issued what was presented.',
      ),
    drawChecks('Checks of the presentation', checks),
    ...cards,
  )
}

function drawCredential(
  id: string,
  credential: VerifierSchemas['CredentialReport'],
  labels: ReadonlyMap<string, string>,
): HTMLElement {
  const { format, issuer, issuer_certificate: certificate, claims, checks } = credential
  return element(
    'section',
    {},
    element('h3', {}, sentence`${id} (${format})`),
    drawTerms(undefined, [
      ['Issued by', certificate?.subject ?? 'told, like the claims, only when every check holds'],
      ...(issuer === undefined ? [] : [['It names as its issuer', issuer] as const]),
    ]),
    claims !== undefined && drawClaims(claims, labels),
    drawChecks('Checks of the credential', checks),
  )
}

/** Lists the claims that were disclosed, with what is inside of objects under its whole path. */
function drawClaims(claims: Readonly<Record<string, unknown>>, labels: ReadonlyMap<string, string>): HTMLElement {
  const rows = flatten(claims, []).flatMap(([path, value]) => {
    const own = pathText(path)
    const label = labels.get(JSON.stringify(path))
    return [
      element('dt', label === undefined ? {} : { title: own }, label ?? own),
      element('dd', {}, typeof value === 'string' ? value : JSON.stringify(value)),
    ]
  })
  return element('dl', { class: 'claims' }, ...rows)
}

function flatten(value: unknown, path: readonly string[]): readonly (readonly [readonly string[], unknown])[] {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  const members = isObject ? Object.entries(value) : []
  // An object without members was disclosed as well.
  if (members.length === 0) return path.length === 0 ? [] : [[path, value]]
  return members.flatMap(([name, each]) => flatten(each, [...path, name]))
}

/** Draws checks, the failures first: somebody looks for these. */
export function drawChecks(caption: string, checks: readonly Check[]): HTMLElement {
  const order = ['failed', 'warning', 'not_run', 'passed', 'not_applicable']
  const sortedChecks = [...checks].sort((one, other) => order.indexOf(one.outcome) - order.indexOf(other.outcome))
  return element(
    'table',
    { class: 'checks' },
    element('caption', {}, caption),
    ...sortedChecks.map(({ id, asks, outcome, detail, spec }) =>
      element(
        'tr',
        { class: outcome },
        element('td', {}, element('span', { class: `outcome ${outcome}` }, WORDS[outcome] ?? outcome)),
        element(
          'th',
          { scope: 'row', title: `${id} · ${spec}` },
          asks,
          // The overview and the lists name what went wrong by its id.
          element('small', {}, [outcome === 'passed' ? '' : id, detail].filter(Boolean).join(': ')),
        ),
      ),
    ),
  )
}
