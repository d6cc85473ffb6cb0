/** The walk of the demo: issues a credential to the wallet and presents it to the verifier, over HTTP. */
import type { WalletContext } from '../../wallet/context.ts'
import { WalletError } from '../../wallet/error.ts'
import { type PresentationPlan, planPresentation, sendPresentation } from '../../wallet/present.ts'
import { receiveOffer } from '../../wallet/receive.ts'
import { hangingIndent, paint } from '../terminal/terminal.ts'
import { callService, fetchStatus, readStartedSession, requireSuccess, type StartedSession } from './calls.ts'
import { CARD_TYPE, CLAIM_COUNT, configuration, dataset, dcqlQuery, REQUESTED_CLAIM_NAMES } from './data.ts'
import { INDENT, type Narrator, type ShownStep } from './narrator.ts'
import { claimLines, failureLines, issuerLines, reportLines } from './report.ts'
import type { DemoService } from './services.ts'

export interface Cast {
  readonly issuer: DemoService
  readonly verifier: DemoService
  readonly wallet: WalletContext
  /** The directory of the wallet. */
  readonly walletHome: string
  readonly narrator: Narrator
  readonly write: (text: string) => void
}

/** The created ids, for continuing by hand. */
export interface DeclaredIds {
  readonly configurationId: string
  readonly queryId: string
}

/** Performs all steps. Throws if one fails. */
export async function walkThroughOffer(cast: Cast): Promise<DeclaredIds> {
  const { narrator, wallet } = cast
  const configurationId = await declareConfiguration(cast)
  const offer = await startIssuance(cast, configurationId)
  narrator.beginPart('The wallet receives it')
  const [receivedCredential] = await receiveOffer(wallet, offer.link)
  if (receivedCredential === undefined) throw new Error('the offer had no credential')
  await readIssuanceStatus(cast, offer)
  const queryId = await storeQuery(cast)
  const request = await startVerification(cast, queryId)
  narrator.beginPart('The wallet shows two claims, and keeps the others')
  const plan = await planPresentation(wallet, request.link)
  showPlan(cast, plan)
  const refusal = await presentOrRefusal(wallet, plan)
  await readReport(cast, request, plan)
  if (refusal !== undefined) throw refusal
  return { configurationId, queryId }
}

async function declareConfiguration(cast: Cast): Promise<string> {
  cast.narrator.beginPart('A university offers a student card')
  return takeStep(cast, cast.issuer, '/credential-configuration/create', {
    who: 'The university',
    what: 'declared what it issues',
    sent: `format ${configuration.format}, type ${CARD_TYPE}, names for ${CLAIM_COUNT} claims`,
    means: 'Once for all cards. The answer is the id of this credential configuration.',
    body: configuration,
  })
}

async function startIssuance(cast: Cast, configurationId: string): Promise<StartedSession> {
  const text = await takeStep(cast, cast.issuer, '/issuance/oid4vci/new-session', {
    who: 'The university',
    what: 'started a session for one student',
    sent: `the ${CLAIM_COUNT} claims about Ada Lovelace`,
    means: 'The answer is a link. As a QR code on a web page, it brings a wallet here.',
    body: { credential_dataset: dataset, credential_configurations: [configurationId] },
  })
  return readSessionAndTell(cast, text)
}

async function readIssuanceStatus(cast: Cast, { sessionId }: StartedSession): Promise<void> {
  const text = await takeStep(cast, cast.issuer, `/issuance/oid4vci/status/${sessionId}`, {
    who: 'The university',
    what: 'asked how it went',
    means: 'SUCCEEDED means that a wallet has the card.',
  })
  const { status } = JSON.parse(text) as { status: string }
  cast.narrator.addLine('status', status)
  if (status !== 'SUCCEEDED') throw new Error(`the issuance session is ${status}`)
}

async function storeQuery(cast: Cast): Promise<string> {
  cast.narrator.beginPart('A library asks for a part of it')
  return takeStep(cast, cast.verifier, '/verification-query/create', {
    who: 'The library',
    what: 'stored what it wants to know',
    sent: `a DCQL query for a student card with ${REQUESTED_CLAIM_NAMES}`,
    means: 'Once for all visitors. The answer is the id of this verification query.',
    body: { dcql_query: dcqlQuery },
  })
}

async function startVerification(cast: Cast, queryId: string): Promise<StartedSession> {
  const text = await takeStep(cast, cast.verifier, '/presentation/oid4vp/new-session', {
    who: 'The library',
    what: 'started a session for one visitor',
    sent: 'the id of the query',
    means: 'Again the answer is a link; it names the hash of the certificate that the request will be signed with.',
    body: { verification_query_id: queryId },
  })
  return readSessionAndTell(cast, text)
}

function readSessionAndTell({ narrator }: Cast, text: string): StartedSession {
  const startedSession = readStartedSession({ text })
  narrator.addLine('link', startedSession.link)
  return startedSession
}

function showPlan({ narrator }: Cast, { matches, problem }: PresentationPlan): void {
  if (problem !== undefined) throw new Error(problem)
  const [match] = matches
  if (match === undefined || !('credential' in match)) throw new Error('the wallet has nothing to answer with')
  const requestedClaims = match.disclosed.filter(({ because }) => because !== 'always')
  narrator.tellStep({
    who: 'The wallet',
    what: `chose the ${match.credential.name}, and asks its owner`,
    means: 'Each claim was signed on its own, so that each can be shown or kept. In the demo the owner agrees.',
  })
  narrator.addLine('would show', requestedClaims.map(({ position }) => position.at(-1)).join(', '))
  narrator.addLine('would keep', match.hidden.map((position) => position.at(-1)).join(', '))
}

/** Presents the plan. Returns the error if the verifier rejects the presentation; throws any other error. */
async function presentOrRefusal(wallet: WalletContext, plan: PresentationPlan): Promise<WalletError | undefined> {
  try {
    await sendPresentation(wallet, plan)
    return undefined
  } catch (error) {
    if (error instanceof WalletError && error.code === 'refused') return error
    throw error
  }
}

async function readReport(cast: Cast, { sessionId }: StartedSession, plan: PresentationPlan): Promise<void> {
  const { narrator, verifier, write } = cast
  narrator.beginPart('The library reads the report')
  await takeStep(cast, verifier, `/presentation/oid4vp/status/${sessionId}`, {
    who: 'The library',
    what: 'asked how it went',
    means: 'The answer has every check with its question, its source and its outcome, whether it held or not.',
  })
  const { status, result } = await fetchStatus(verifier, 'presentation', sessionId)
  narrator.addLine('status', status)
  if (result === undefined) throw new Error(`the verification session is ${status}, without a report`)
  write(`${reportLines(result).join('\n')}\n`)
  const [first, ...more] = failureLines(result)
  if (!result.verified) {
    throw new Error(`the presentation was not accepted; ${[first ?? 'no check says why', ...more].join('; ')}`)
  }
  const hiddenClaims = plan.matches.flatMap((match) => ('hidden' in match ? match.hidden : []))
  const names = hiddenClaims.map((position) => String(position.at(-1))).join(', ')
  write(`\n${INDENT}${paint('bold', 'It was issued by')}\n${issuerLines(result).join('\n')}\n`)
  write(`\n${INDENT}${paint('bold', 'The library now knows')}\n${claimLines(result).join('\n')}\n`)
  write(`\n${INDENT}${paint('bold', 'and not')}\n${hangingIndent(INDENT, INDENT.length, names)}\n`)
}

type ServiceStep = Omit<ShownStep, 'request' | 'status'> & { readonly sent?: string; readonly body?: object }

/** Calls a service, shows the step, and returns the body of the response. Throws if the call fails. */
async function takeStep({ narrator }: Cast, service: DemoService, path: string, step: ServiceStep): Promise<string> {
  const { sent, body, ...narratedStep } = step
  const answer = await callService(service, path, body)
  const request = { method: answer.method, url: answer.url, ...(sent === undefined ? {} : { sent }) }
  narrator.tellStep({ ...narratedStep, request, status: answer.status })
  return requireSuccess(answer).text
}
