/** Texts of the wallet for people: credentials, and what a presentation discloses and withholds. */

import { removeControlCharacters } from '../../codec/control-characters.ts'
import type { Json } from '../../codec/json.ts'
import type { ClaimPosition } from '../../codec/sd-jwt.ts'
import type { Certificate } from '../../keys/certificate.ts'
import { isWithin } from '../../protocol/claim-path.ts'
import { claimLabel, holderClaims, isAboutCredential, sortClaims } from '../../wallet/claim-text.ts'
import { chosenMatches, type MatchedCredential } from '../../wallet/match-credentials.ts'
import type { PresentationPlan } from '../../wallet/present.ts'
import type { OutstandingCredential } from '../../wallet/renewal.ts'
import type { ResponseRecipient } from '../../wallet/request-object.ts'
import type { StoredCredential, UnreadableCredential } from '../../wallet/stored-credential.ts'
import { columnWidth, formatColumns, paint, timeText, wrapIndented } from '../terminal/terminal.ts'
import { transactionText } from './transaction-text.ts'

const MAX_VALUE = 72
const INDENT = '  '

/** Formats a received credential briefly. */
export function formatCard(credential: StoredCredential): string {
  const rows = holderClaims(credential).map(
    ({ position, value }) => [labelText(credential, position), shorten(valueText(value))] as const,
  )
  return frameCredential(credential, formatColumns(rows))
}

/** Formats a credential in full, and marks the selectively disclosable claims. */
export function formatDetails(credential: StoredCredential): string {
  const { disclosable } = credential
  const rows = holderClaims(credential).map(({ position, value }) => {
    const mark = disclosable.some((cover) => isWithin(position, cover)) ? '○' : '●'
    return [`${mark} ${labelText(credential, position)}`, shorten(valueText(value))] as const
  })
  const types = credential.types.filter((type) => type !== 'VerifiableCredential').map(removeControlCharacters)
  const facts = formatColumns([
    ['type', types.join(', ') || 'VerifiableCredential'],
    ['format', credential.format],
    ['received', timeText(credential.receivedAt)],
  ])
  const legend = '○ can stay hidden when you present this   ● every verifier sees it'
  return `${frameCredential(credential, [...formatColumns(rows), '', ...facts.map((line) => paint('dim', line))])}\n\n${legend}`
}

/** Formats one line for each credential. */
export function formatList(credentials: readonly StoredCredential[], now: Date): string {
  const nameWidth = columnWidth(credentials.map((each) => removeControlCharacters(each.name)))
  const issuerWidth = columnWidth(credentials.map(issuerName))
  const lines = credentials.map((each) => {
    const name = paint('bold', removeControlCharacters(each.name).padEnd(nameWidth))
    return `${each.id}  ${name}  ${issuerName(each).padEnd(issuerWidth)}  ${validityText(each, now)}${copiesText(each)}`
  })
  return lines.join('\n')
}

export function describeDamage({ id, problem }: UnreadableCredential): string {
  return paint('red', `Credential ${id} is damaged and was left as it is: ${removeControlCharacters(problem)}`)
}

/** Describes a credential that was not received yet. */
export function describeOutstanding({ credentialIssuer, configurationId, problem }: OutstandingCredential): string {
  const why = problem === undefined ? 'has not decided yet' : `did not give it: ${removeControlCharacters(problem)}`
  return `${removeControlCharacters(credentialIssuer)} was asked for ${removeControlCharacters(configurationId)}, and ${why}.`
}

/**
 * Formats the plan: the verifier, the disclosed and withheld claims of each credential, and the transactions to
 * approve.
 */
export function planText(plan: PresentationPlan): string {
  const matches = chosenMatches(plan)
  const transactions = plan.approvals.map((approval) => {
    const match = matches.find(({ query }) => query.id === approval.queryId)
    return transactionText(approval, match?.credential.name ?? approval.queryId)
  })
  return [verifierText(plan), ...matches.map(disclosureText), ...transactions].join('\n\n')
}

/** Returns the name in a signed request, or that in the verifier's certificate; of an unsigned one the origin. */
export function verifierName({ request }: PresentationPlan): string {
  const { certificate, clientName, recipient } = request
  const name = certificate && (clientName ?? certificate.subjectText)
  return removeControlCharacters(name ?? originOf(recipient) ?? '')
}

function verifierText(plan: PresentationPlan): string {
  const { certificate, recipient, encryption } = plan.request
  const origin = originOf(recipient)
  const sentences = [
    certificate ? signatureText(certificate) : 'The request is not signed.',
    origin === undefined ? '' : `It is for the page of ${removeControlCharacters(origin)}, as the browser says.`,
    encryption ? 'The answer would be encrypted for it.' : '',
  ]
  const about = sentences.filter(Boolean).join(' ')
  return [`${paint('bold', verifierName(plan))} asks for a presentation.`, paint('dim', wrapIndented(about))].join('\n')
}

function signatureText({ subjectText, issuerText, selfIssued }: Certificate): string {
  const voucherText = selfIssued
    ? 'which it made itself: nobody else vouches for that name'
    : `which ${removeControlCharacters(issuerText)} issued`
  return `The request is signed with the certificate ${removeControlCharacters(subjectText)}, ${voucherText}.`
}

function originOf(recipient: ResponseRecipient): string | undefined {
  return 'origin' in recipient ? recipient.origin : undefined
}

function disclosureText({ credential, disclosed, hidden }: MatchedCredential): string {
  const claims = disclosed.filter(({ position }) => !isAboutCredential(credential, position))
  const rows = sortClaims(credential, claims).map(({ position, value, because }) => {
    const why = { asked: '', always: '  (cannot be hidden)', inseparable: '  (comes with what was asked)' }[because]
    return [labelText(credential, position), `${shorten(valueText(value))}${why}`] as const
  })
  const always = new Set(
    disclosed
      .filter(({ position }) => isAboutCredential(credential, position))
      .map(({ position }) => String(position[0])),
  )
  // An mdoc always discloses its type and dates, which are not claims.
  const facts = always.size > 0 ? [...always] : ['its type', 'its dates']
  const alwaysShown = `and what every presentation shows: ${[...facts, 'the key it is bound to'].join(', ')}`
  const hiddenLabels = sortClaims(
    credential,
    hidden.map((position) => ({ position })),
  ).map(({ position }) => labelText(credential, position))
  return [
    `From ${paint('bold', removeControlCharacters(credential.name))} of ${issuerName(credential)} (${credential.id}) it would see`,
    ...(rows.length > 0
      ? formatColumns(rows, INDENT).map((line) => paint('green', line))
      : [`${INDENT}no claim at all`]),
    paint('dim', wrapIndented(alwaysShown, INDENT)),
    'and it would not see',
    wrapIndented(hiddenLabels.join(', ') || '(nothing stays hidden)', INDENT),
  ].join('\n')
}

function frameCredential(credential: StoredCredential, lines: readonly string[]): string {
  const { name, id, issuer, expiresAt } = credential
  const from =
    credential.issuerName === undefined
      ? removeControlCharacters(issuer)
      : `${removeControlCharacters(credential.issuerName)} (${removeControlCharacters(issuer)})`
  const until = expiresAt === undefined ? 'no expiry' : `valid until ${timeText(expiresAt)}`
  const inside = [from, ...certificateLines(credential), '', ...lines, ''].map((line) => `│ ${line}`.trimEnd())
  return [`┌ ${paint('bold', removeControlCharacters(name))}  ${paint('dim', id)}`, ...inside, `└ ${until}`].join('\n')
}

/** Describes the certificate of the key that signed the credential. */
function certificateLines({ issuerCertificate: certificate }: StoredCredential): string[] {
  if (certificate === undefined) return []
  const { subjectText, issuerText, selfIssued } = certificate
  const attribution = selfIssued ? 'made by itself' : `issued by ${removeControlCharacters(issuerText)}`
  return [paint('dim', `signed with the certificate ${removeControlCharacters(subjectText)}, ${attribution}`)]
}

function validityText({ expiresAt }: StoredCredential, now: Date): string {
  if (expiresAt === undefined) return 'no expiry'
  const time = timeText(expiresAt)
  return expiresAt <= now ? paint('red', `expired ${time}`) : paint('dim', `until ${time}`)
}

/** Describes the copies, if there are several. */
function copiesText({ copies: { all, unseen } }: StoredCredential): string {
  return all === 1 ? '' : paint(unseen === 0 ? 'red' : 'dim', `  ${unseen} of ${all} copies unseen`)
}

function issuerName({ issuerName: name, issuer }: StoredCredential): string {
  return removeControlCharacters(name ?? issuer)
}

/** Returns the issuer's label for the claim, or its path if there is none. */
function labelText(credential: StoredCredential, position: ClaimPosition): string {
  return removeControlCharacters(claimLabel(credential, position))
}

function valueText(value: Json): string {
  return removeControlCharacters(typeof value === 'string' ? value : JSON.stringify(value))
}

function shorten(text: string): string {
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}… (${text.length} characters)` : text
}
