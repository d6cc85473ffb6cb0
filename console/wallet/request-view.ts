/** A request in the wallet: who asks, what would leave, the agreement, and what came of it. */
import { toBase64url } from '../../src/codec/base64url.ts'
import { type ServerError, WalletError } from '../../src/wallet/error.ts'
import { chosenMatches } from '../../src/wallet/match-credentials.ts'
import {
  decline,
  type PresentationPlan,
  type PresentationResult,
  planAnswer,
  sendPresentation,
} from '../../src/wallet/present.ts'
import { fetchRequest, type LinkRequest } from '../../src/wallet/request-object.ts'
import { listCredentials } from '../../src/wallet/stored-credential.ts'
import { issuerClient, verifierClient } from '../clients.ts'
import { drawError, element, sentence } from '../dom.ts'
import { drawDisclosure } from './drawing.ts'
import { requestSessionOf } from './link-session.ts'
import { misbehaviours, rememberPresentations, withRequest } from './misbehaviour.ts'
import { type Behaviour, createSwitches, HONEST } from './switches.ts'
import { drawCheckVerdict, drawVerdict } from './verdict.ts'
import { pause, type WalletPage } from './wallet-page.ts'

type OnEnd = (...above: readonly HTMLElement[]) => Promise<void>

const EXPIRED_BEHAVIOUR = 'expired'
const REVOKED_BEHAVIOUR = 'revoked'
const WRONG_STATE_BEHAVIOUR = 'state'
/** Verifiers keep a status list for as long as it says, and for five seconds at least. */
const LIST_SECONDS = 6

/** A request and all that can be done about it. */
interface OpenedRequest {
  readonly link: string
  readonly request: LinkRequest
  /** The honest plan. */
  readonly plan: PresentationPlan
  /** The plan with credentials that have expired, when there are some. */
  readonly expired: PresentationPlan | undefined
}

/** Shows the request of a link in `place`; `onEnd` draws what comes after it. */
export async function showRequest(place: HTMLElement, page: WalletPage, link: string, onEnd: OnEnd): Promise<void> {
  const request = await fetchRequest(page.wallet, link)
  const heldCredentials = await listCredentials(page.store)
  const now = page.wallet.now()
  const over = heldCredentials.credentials.filter(({ expiresAt }) => expiresAt !== undefined && expiresAt <= now)
  const before = new Date(Math.min(...over.map(({ receivedAt }) => receivedAt.getTime())))
  const expired = over.length > 0 ? planAnswer(request, { credentials: over, unreadable: [] }, before) : undefined
  const opened = { link, request, plan: planAnswer(request, heldCredentials, now), expired }
  const switches = createSwitches(behavioursFor(page, opened), (id) => {
    if (id !== HONEST.id) page.guide.report('chosen')
    agreement.disabled = id === HONEST.id && opened.plan.problem !== undefined
  })
  const busy = element('p', { role: 'status' })
  const agreement = button('Present', () => presentAs(page, opened, switches.getChosen(), busy))
  const buttons = element(
    'p',
    { class: 'buttons' },
    agreement,
    button('Decline', () => declineRequest(page, opened)),
  )
  agreement.disabled = opened.plan.problem !== undefined
  function button(text: string, act: () => Promise<readonly HTMLElement[]>): HTMLButtonElement {
    const onclick = (): void => {
      for (const each of buttons.querySelectorAll('button')) each.disabled = true
      act().then(
        (drawn) => onEnd(...drawn),
        (error: unknown) => onEnd(drawError(error)),
      )
    }
    return element('button', { type: 'button', onclick, class: text === 'Decline' ? 'second' : undefined }, text)
  }
  place.replaceChildren(...drawAsker(request), ...drawPlan(opened.plan), switches.drawn, busy, buttons)
}

function drawAsker({ certificate, clientName, encryption }: LinkRequest): readonly HTMLElement[] {
  const issuerText = certificate.selfIssued ? 'which it made itself' : sentence`which ${certificate.issuerText} issued`
  const encryptionText = encryption === undefined ? '' : ' The answer will be encrypted for it.'
  return [
    element('h3', {}, sentence`${clientName ?? certificate.subjectText} asks`),
    element(
      'p',
      { class: 'quiet' },
      sentence`Its request is signed with the certificate ${certificate.subjectText}, `,
      issuerText,
      `.${encryptionText}`,
    ),
  ]
}

function drawPlan(plan: PresentationPlan): readonly HTMLElement[] {
  if (plan.problem !== undefined) return [drawError(new Error(`The wallet cannot answer: ${plan.problem}`))]
  const approvals = plan.approvals.map(({ type, content }) =>
    element(
      'div',
      {},
      element('h4', {}, `Presenting approves: ${type}`),
      element('p', {}, 'The wallet does not know the type. Approve it only if you know what it means.'),
      element('pre', { tabindex: '0' }, JSON.stringify(content, null, 2)),
    ),
  )
  return [...chosenMatches(plan).map(drawDisclosure), ...approvals]
}

function behavioursFor(page: WalletPage, { plan, expired }: OpenedRequest): readonly Behaviour[] {
  const [match] = chosenMatches(plan)
  const nothing = 'the wallet has nothing to answer with'
  return [
    ...misbehaviours.map((each) => ({
      ...each,
      problem: match === undefined ? nothing : each.findProblem(match, page.remembered),
      expects: match === undefined ? '' : expectation(each.expectedCheck(match.credential.format)),
    })),
    {
      id: WRONG_STATE_BEHAVIOUR,
      title: 'Wrong state',
      does: 'The wallet sends its response with a state that is not the one of the request.',
      expects: 'The verifier has to refuse it with invalid_request, and to go on waiting.',
      problem: match === undefined ? nothing : undefined,
    },
    {
      id: EXPIRED_BEHAVIOUR,
      title: 'Expired credential',
      does: 'The wallet presents a credential that has expired.',
      expects: expectation('validity.not_expired'),
      problem:
        expired?.problem === undefined && expired !== undefined
          ? undefined
          : 'receive the student ID that is valid for five seconds first, and wait for a minute: verifiers allow for clocks that differ',
    },
    {
      id: REVOKED_BEHAVIOUR,
      title: 'Revoked credential',
      does: 'The issuer revokes the credential, and the wallet presents it all the same.',
      expects: expectation('status.valid'),
      problem:
        match === undefined
          ? nothing
          : page.sessions.get(match.credential.id) === undefined
            ? 'the issuer of this console did not issue the credential to this wallet'
            : undefined,
    },
  ]
}

/** Returns the plan that the wallet follows for the misbehaviour `id`. */
function planOf(id: string, { plan, expired }: OpenedRequest, { wallet }: WalletPage): PresentationPlan {
  if (id === WRONG_STATE_BEHAVIOUR) return withRequest(plan, { state: toBase64url(wallet.random(24)) })
  return id === EXPIRED_BEHAVIOUR ? (expired ?? plan) : plan
}

function expectation(check: string): string {
  return `The check ${check} has to catch it.`
}

/** Presents as the wallet was told to behave, and returns what is to be said of it. */
async function presentAs(
  page: WalletPage,
  opened: OpenedRequest,
  id: string,
  busy: HTMLElement,
): Promise<readonly HTMLElement[]> {
  const wrong = misbehaviours.find((each) => each.id === id)
  const plan = planOf(id, opened, page)
  if (id === REVOKED_BEHAVIOUR) await revokeFirst(page, plan, busy)
  const make = wrong?.createPresentation(page.remembered) ?? rememberPresentations(page.remembered)
  const result = await sendPresentation(page.wallet, plan, make).catch((error: unknown) => error as Error)
  const isUnsent = result instanceof WalletError && result.code === 'cannot_answer'
  page.guide.report(result instanceof Error && (isUnsent || id === HONEST.id) ? 'refused' : 'presented')
  if (isUnsent || (result instanceof Error && !(result instanceof WalletError))) throw result
  const message = result instanceof Error ? drawError(result) : drawAccepted(result)
  // A response of another request is refused before there is anything to report on.
  if (id === WRONG_STATE_BEHAVIOUR) return [message, drawVerdict('invalid_request', serverErrorOf(result), 'verifier')]
  const expectedCheckId = expectedCheck(id, plan)
  return expectedCheckId === undefined ? [message] : [message, await verdictOf(opened.link, expectedCheckId)]
}

/** Draws the good end, with the address at which the verifier wants the person to go on. */
function drawAccepted({ redirect_uri: redirectUri }: PresentationResult): HTMLElement {
  const link = redirectUri && element('a', { href: redirectUri, rel: 'noreferrer' }, `Go on at ${redirectUri}`)
  return element('p', { class: 'good', role: 'status' }, 'Presented, and the verifier took it. ', link || undefined)
}

function serverErrorOf(result: unknown): ServerError | undefined {
  return result instanceof WalletError ? result.server : undefined
}

function expectedCheck(id: string, plan: PresentationPlan): string | undefined {
  if (id === HONEST.id) return undefined
  if (id === EXPIRED_BEHAVIOUR) return 'validity.not_expired'
  if (id === REVOKED_BEHAVIOUR) return 'status.valid'
  const [match] = chosenMatches(plan)
  return match && misbehaviours.find((each) => each.id === id)?.expectedCheck(match.credential.format)
}

async function revokeFirst(page: WalletPage, plan: PresentationPlan, busy: HTMLElement): Promise<void> {
  const [match] = chosenMatches(plan)
  const sessionId = match && page.sessions.get(match.credential.id)
  if (sessionId === undefined) return
  busy.textContent = `The issuer revokes the credential. Verifiers may keep the list that they have for some seconds …`
  await issuerClient.revoke(sessionId)
  await pause(LIST_SECONDS)
}

async function verdictOf(link: string, expectedCheckId: string): Promise<HTMLElement> {
  const sessionId = requestSessionOf(link)
  const { result } = sessionId === undefined ? {} : await verifierClient.getSession(sessionId)
  const otherwise =
    expectedCheckId === 'status.valid'
      ? 'The verifier still keeps the status list that it had, for as long as the issuer’s statusList.ttlSeconds says; present again after that.'
      : ''
  return drawCheckVerdict(expectedCheckId, result, otherwise)
}

async function declineRequest(page: WalletPage, { plan }: OpenedRequest): Promise<readonly HTMLElement[]> {
  await decline(page.wallet, plan)
  page.guide.report('dropped')
  return [element('p', { role: 'status' }, 'Declined. The verifier learns that, and neither who nor why.')]
}
