/** Shows one session: its state as it changes, the steps of the wallet, its report, and its credentials. */
import type { IssuerSchemas, VerifierSchemas } from '../sdk/server/index.ts'
import { issuerClient, type OfferedConfiguration, readConfigurations, verifierClient } from './clients.ts'
import { drawCompletion } from './completion.ts'
import { element, hiddenProblem, localTime, oneAtATime, replaceContent, sentence, showProblem } from './dom.ts'
import { followVisibly } from './follow.ts'
import { labelsOfType, nameConfigurations } from './labels.ts'
import { issuanceMoments, verificationMoments } from './moments.ts'
import type { ShowPage } from './page.ts'
import { updateChildren } from './refresh.ts'
import { drawReport, type LabelsOf } from './report.ts'
import { drawTimeline } from './timeline.ts'

type IssuanceStatus = IssuerSchemas['IssuanceSession']
type VerificationStatus = VerifierSchemas['VerificationSession']

const STATES: Readonly<Record<string, { readonly word: string; readonly look: string }>> = {
  STARTED: { word: 'open', look: 'open' },
  SUCCEEDED: { word: 'issued', look: 'good' },
  VERIFICATION_SUCCEEDED: { word: 'verified', look: 'good' },
  VERIFICATION_FAILED: { word: 'failed', look: 'bad' },
  DECLINED: { word: 'declined by its holder', look: 'bad' },
  EXPIRED: { word: 'expired', look: 'bad' },
  DENIED: { word: 'denied', look: 'bad' },
}

/** The way of a response, by its response mode. */
const WAYS: Readonly<Record<NonNullable<VerificationStatus['response_mode']>, string>> = {
  direct_post: 'by the link',
  'direct_post.jwt': 'by the link, encrypted',
  'dc_api.jwt': 'through the browser, encrypted',
  'org-iso-mdoc': 'through the browser, encrypted',
}

/** Returns the word for the state of a session. */
export function stateWord(status: string): string {
  return STATES[status]?.word ?? status
}

/** Draws the state of a session in words. */
export function drawState(status: string): HTMLElement {
  return element('span', { class: `state ${STATES[status]?.look ?? 'open'}` }, stateWord(status))
}

/** Makes a link from a state to the sessions of the service that have it. */
export function makeStateLink(service: string, status: string): HTMLElement {
  return element('a', { href: `#/sessions/${service}/${status}` }, drawState(status))
}

/** Makes a link to a session by the beginning of its id. */
export function makeSessionLink(service: string, id: string): HTMLElement {
  return element('a', { href: `#/session/${service}/${encodeURIComponent(id)}` }, `${id.slice(0, 10)}…`)
}

/** Makes a link to the sessions of a query that have the same state. */
export function makeQueryLink(id: string, status = ''): HTMLElement {
  return element(
    'a',
    { href: `#/sessions/verifier/${status}/${encodeURIComponent(id)}`, title: id },
    `${id.slice(0, 10)}…`,
  )
}

/** Reads the names of credential configurations, for people; a configuration that is not offered has its id. */
export async function readNames(): Promise<(ids: readonly string[]) => string> {
  const names = new Map(nameConfigurations(await readConfigurationsIfAny()))
  return (ids) => ids.map((id) => names.get(id) ?? id).join(', ')
}

export const showSession: ShowPage = async (main, { parts, signal }) => {
  const [name, id = ''] = parts
  const service = name === 'issuer' ? name : 'verifier'
  main.append(
    element('p', {}, element('a', { href: `#/sessions/${service}` }, 'All sessions')),
    element('h1', {}, service === 'issuer' ? 'Issuance session' : 'Verification session'),
    element('p', { class: 'lead' }, element('code', { class: 'long' }, id)),
    await drawAuditName(id),
  )
  await watchSession(main, service, id, signal)
}

/** Draws the name that the session has in the audit log and in the log of its service. docs/operating.md says more. */
async function drawAuditName(id: string): Promise<HTMLElement> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(id))
  const base64 = btoa(String.fromCharCode(...new Uint8Array(digest)))
  const name = base64.replaceAll('+', '-').replaceAll('/', '_').replace('=', '')
  const link = element('a', { href: '#/audit' }, 'audit log')
  return element('p', { class: 'quiet' }, 'In the ', link, ': ', element('code', { class: 'long' }, name))
}

/** Draws a session, and again with each event of it, until the page is left or nothing more can change. */
export async function watchSession(
  main: HTMLElement,
  service: 'issuer' | 'verifier',
  id: string,
  signal: AbortSignal,
): Promise<void> {
  const place = element('div', { 'aria-live': 'polite' })
  main.append(place)
  try {
    if (service === 'issuer') {
      const watch = (options: { signal: AbortSignal }) => issuerClient.watchSession(id, options)
      const draw = createIssuanceView(place, await readNames())
      for await (const session of followVisibly(watch, signal)) draw(session)
    } else {
      const labels = await readLabels()
      const watch = (options: { signal: AbortSignal }) => verifierClient.watchSession(id, options)
      for await (const session of followVisibly(watch, signal)) {
        updateChildren(place, element('div', {}, drawVerification(session, labels)))
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** Gives the labels of the claims of a type; none where the issuer is not to be reached. */
async function readLabels(): Promise<LabelsOf> {
  const configurations = await readConfigurationsIfAny()
  return (type) => labelsOfType(configurations.values(), type)
}

/** Reads the configurations of the issuer; none where it is not to be reached. */
export function readConfigurationsIfAny(): Promise<ReadonlyMap<string, OfferedConfiguration>> {
  return readConfigurations().catch(() => new Map<string, OfferedConfiguration>())
}

/**
 * Creates the function that draws each event of an issuance session. An event replaces no form and no button that it
 * does not change, since somebody may be typing there.
 */
function createIssuanceView(
  place: HTMLElement,
  namesOf: (ids: readonly string[]) => string,
): (session: IssuanceStatus) => void {
  const [facts, completion, statuses] = [element('div'), element('div'), element('div')]
  let drawnStatus = ''
  return (session) => {
    if (place.childElementCount === 0) {
      place.append(element('section', { class: 'card' }, facts, completion, statuses))
    }
    updateChildren(facts, element('div', {}, ...drawIssuance(session, namesOf)))
    const isPending = session.deferred?.state === 'PENDING'
    if (isPending && completion.childElementCount === 0) completion.append(drawCompletion(session))
    if (!isPending && completion.childElementCount > 0) replaceContent(completion)
    const { session_id: id, credentials, credential_status_seen_by: seenBy } = session
    const status = JSON.stringify([credentials[0]?.credential_status, seenBy])
    if (credentials.length === 0 || status === drawnStatus) return
    drawnStatus = status
    replaceContent(statuses, drawCredentialStatus(id, session))
  }
}

function drawIssuance(session: IssuanceStatus, namesOf: (ids: readonly string[]) => string): readonly HTMLElement[] {
  const { status, credential_configurations: ids, deferred } = session
  return [
    element('p', {}, drawState(deferred?.state === 'DENIED' ? 'DENIED' : status), sentence` ${namesOf(ids)}`),
    drawTimeline(issuanceMoments(session)),
    ...(deferred?.state === 'PENDING'
      ? [element('p', {}, `Requests of wallets that wait for the data: ${deferred.waiting_requests}.`)]
      : []),
  ]
}

/** Draws the status of the credentials, with the ways to change it. */
function drawCredentialStatus(id: string, session: IssuanceStatus): HTMLElement {
  const status = session.credentials[0]?.credential_status ?? 'VALID'
  const seenBy = session.credential_status_seen_by ?? 0
  const problem = hiddenProblem()
  const change = (label: string, act: () => Promise<unknown>) =>
    element('button', { type: 'button', onclick: oneAtATime(() => act().catch(fail)) }, label)
  const fail = (error: unknown): void => showProblem(problem, error)
  return element(
    'div',
    {},
    element('p', {}, 'The credentials are ', element('strong', {}, status), '.'),
    seenBy * 1000 > Date.now() && element('p', { class: 'warning' }, seenByText(status, seenBy)),
    status === 'VALID' && change('Suspend', () => issuerClient.suspend(id)),
    status === 'SUSPENDED' && change('Reinstate', () => issuerClient.reinstate(id)),
    status !== 'REVOKED' && makeRevokeButton(id, fail),
    problem,
  )
}

/** Says until when verifiers may go by the list of before the change, which they and HTTP caches keep for a while. */
function seenByText(status: string, seenBy: number): string {
  const still = status === 'VALID' ? 'refuse the credential' : 'accept the credential'
  return `Until ${localTime(seenBy)} a verifier that has the status list of before may still ${still}.`
}

/** Makes a button that revokes; as that is for good, the button asks once more. */
function makeRevokeButton(id: string, fail: (error: unknown) => void): HTMLElement {
  const button = element('button', { type: 'button', class: 'danger' }, 'Revoke')
  const revoke = oneAtATime(() => issuerClient.revoke(id).catch(fail))
  // A key that is held presses the button again and again.
  button.addEventListener('keydown', (event) => event.repeat && event.preventDefault())
  button.addEventListener('click', ({ detail: clicks }) => {
    // A double click asks the question, and a later click answers it.
    if (clicks > 1) return
    if (button.dataset.asked === 'yes') revoke()
    else {
      button.dataset.asked = 'yes'
      button.textContent = 'Revoke for good?'
    }
  })
  return button
}

function drawVerification(session: VerificationStatus, labels: LabelsOf): HTMLElement {
  const { status, result, response_mode: mode } = session
  return element(
    'div',
    {},
    element(
      'section',
      { class: 'card' },
      element('p', {}, drawState(status), ' Query ', makeQueryLink(session.verification_query_id)),
      drawTimeline(verificationMoments(session)),
      mode !== undefined &&
        element('p', { class: 'quiet' }, `The response came ${WAYS[mode]} (`, element('code', {}, mode), ').'),
    ),
    result !== undefined && drawReport(result, labels),
  )
}
