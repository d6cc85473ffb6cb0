/** Shows one session: its state as it changes, the steps of the wallet, its report, and its credentials. */
import type { IssuerSchemas, VerifierSchemas } from '../sdk/server/index.ts'
import type { ShowPage } from './app.ts'
import { issuerClient, verifierClient } from './clients.ts'
import { element, localTime } from './dom.ts'
import { drawReport } from './report.ts'

type IssuanceStatus = IssuerSchemas['IssuanceSession']
type VerificationStatus = VerifierSchemas['VerificationSession']

const EVERY_MS = 1000
const STATES: Readonly<Record<string, { readonly word: string; readonly look: string }>> = {
  STARTED: { word: 'waits for a wallet', look: 'open' },
  SUCCEEDED: { word: 'issued', look: 'good' },
  VERIFICATION_SUCCEEDED: { word: 'verified', look: 'good' },
  VERIFICATION_FAILED: { word: 'failed', look: 'bad' },
  DECLINED: { word: 'declined by its holder', look: 'bad' },
  EXPIRED: { word: 'expired', look: 'bad' },
}

/** The state of a session in words. */
export function drawState(status: string): HTMLElement {
  const { word, look } = STATES[status] ?? { word: status, look: 'open' }
  return element('span', { class: `state ${look}` }, word)
}

export const showSession: ShowPage = async (main, { parts, signal }) => {
  const [service = '', id = ''] = parts
  main.append(element('h1', {}, service === 'issuer' ? 'Issuance session' : 'Verification session'))
  await watchSession(main, service === 'issuer' ? 'issuer' : 'verifier', id, signal)
}

/** Draws a session, and again whenever it has changed, until the page is left or nothing more can change. */
export async function watchSession(
  main: HTMLElement,
  service: 'issuer' | 'verifier',
  id: string,
  signal: AbortSignal,
): Promise<void> {
  const place = element('div', { 'aria-live': 'polite' })
  main.append(place)
  let before = ''
  for (let isOver = false; !isOver; ) {
    const { drawn, text, isFinal } = service === 'issuer' ? await lookAtIssuance(id) : await lookAtVerification(id)
    if (signal.aborted) return
    if (text !== before) place.replaceChildren(drawn)
    before = text
    isOver = isFinal
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
  }
}

/** A session as it is now. */
interface Look {
  readonly drawn: HTMLElement
  readonly text: string
  readonly isFinal: boolean
}

async function lookAtIssuance(id: string): Promise<Look> {
  const session = await issuerClient.getSession(id)
  return { drawn: drawIssuance(session), text: JSON.stringify(session), isFinal: session.status === 'EXPIRED' }
}

async function lookAtVerification(id: string): Promise<Look> {
  const session = await verifierClient.getSession(id)
  return { drawn: drawVerification(session), text: JSON.stringify(session), isFinal: session.status !== 'STARTED' }
}

function drawIssuance(session: IssuanceStatus): HTMLElement {
  const { session_id: id, status, problem, credentials, notifications = [] } = session
  return element(
    'section',
    { class: 'card' },
    element('p', {}, drawState(status)),
    drawEvents([
      [session.created_at, 'The session was started.'],
      [session.offer_fetched_at, 'A wallet fetched the offer.'],
      [
        problem?.at,
        `The wallet was refused at the ${problem?.endpoint ?? ''} endpoint: ${problem?.error ?? ''}, ${problem?.error_description ?? ''}${(problem?.count ?? 1) > 1 ? ` (${problem?.count ?? 1} times)` : ''}`,
        'bad',
      ],
      ...credentials.map((each) => [each.issued_at, 'A credential was issued.', 'good'] as const),
      ...notifications.map((each) => [each.notified_at, `The wallet reported ${each.event}.`] as const),
      [status === 'EXPIRED' ? session.expires_at : undefined, 'The offer expired.', 'bad'],
    ]),
    credentials.length > 0 && drawCredentialStatus(id, credentials[0]?.credential_status ?? 'VALID'),
  )
}

type Happening = readonly [at: number | undefined, text: string, look?: 'good' | 'bad']

function drawEvents(happenings: readonly Happening[]): HTMLElement {
  const sorted = happenings.filter(([at]) => at !== undefined).sort(([one = 0], [other = 0]) => one - other)
  return element(
    'ol',
    { class: 'events' },
    ...sorted.map(([at = 0, text, look = '']) =>
      element('li', { class: look }, element('time', {}, localTime(at)), ` ${text}`),
    ),
  )
}

/** The status of the credentials, with the ways to change it. */
function drawCredentialStatus(id: string, status: string): HTMLElement {
  const problem = element('p', { class: 'problem', role: 'alert', hidden: true })
  const change = (label: string, act: () => Promise<unknown>) =>
    element('button', { type: 'button', onclick: () => void act().catch(tell) }, label)
  const tell = (error: unknown): void => {
    problem.hidden = false
    problem.textContent = (error as Error).message
  }
  return element(
    'div',
    {},
    element('p', {}, 'The credentials are ', element('strong', {}, status), '.'),
    status === 'VALID' && change('Suspend', () => issuerClient.suspend(id)),
    status === 'SUSPENDED' && change('Reinstate', () => issuerClient.reinstate(id)),
    status !== 'REVOKED' && revokeButton(id, tell),
    problem,
  )
}

/** Revoking is for good, so the button asks once more. */
function revokeButton(id: string, tell: (error: unknown) => void): HTMLElement {
  const button = element('button', { type: 'button', class: 'danger' }, 'Revoke')
  button.addEventListener('click', () => {
    if (button.dataset.asked === 'yes') void issuerClient.revoke(id).catch(tell)
    else {
      button.dataset.asked = 'yes'
      button.textContent = 'Revoke for good?'
    }
  })
  return button
}

function drawVerification(session: VerificationStatus): HTMLElement {
  const { status, result, wallet_error: error } = session
  return element(
    'div',
    {},
    element(
      'section',
      { class: 'card' },
      element('p', {}, drawState(status)),
      error !== undefined &&
        element('p', { class: 'problem' }, `The wallet said ${error.error}: ${error.error_description ?? ''}`),
      drawEvents([
        [session.created_at, 'The session was started.'],
        [status === 'EXPIRED' ? session.expires_at : undefined, 'The request expired.', 'bad'],
      ]),
    ),
    result !== undefined && drawReport(result),
  )
}
