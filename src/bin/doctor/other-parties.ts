/** Checks whether the parties that a configuration names can be reached: who signs people in, and the application. */
import { isObject, type Json, parseJson } from '../../codec/json.ts'
import { type Problem, readOrUndefined } from '../../codec/malformed.ts'
import { removeTrailingSlashes } from '../../codec/url.ts'
import type { CommonConfig } from '../../config/common.ts'
import type { OpenidConnectConfig } from '../../config/openid-connect.ts'
import type { PresentationConfig } from '../../config/presentation.ts'
import { type HttpClientRequest, OutboundError } from '../../http/outbound.ts'
import type { IssuerConfig } from '../../issuer/config.ts'
import { outbound } from '../effects.ts'
import { ANSWER_MS } from '../network/who-listens.ts'
import { type Finding, makeFinding } from './finding.ts'

/** The maximum size of an answer, which is the largest that the services take from these parties. */
const MAX_BYTES = 1024 * 1024

type PartiesConfig = Pick<CommonConfig, 'sessionCallback'> & Partial<Pick<IssuerConfig, 'codeFlow'>>

/** Asks the parties at the same time. Returns warnings alone, since a service starts without them. */
export async function findPartyFindings(config: PartiesConfig): Promise<Finding[]> {
  const { codeFlow, sessionCallback } = config
  const { openidConnect, presentation } = codeFlow ?? {}
  return Promise.all([
    ...(openidConnect === undefined ? [] : [askProvider(openidConnect)]),
    ...(presentation === undefined ? [] : [askVerifier(presentation)]),
    ...(sessionCallback === undefined ? [] : [askApplication(sessionCallback.url)]),
  ])
}

/** Reads the metadata of the OpenID Connect provider. OpenID Connect Discovery 1.0, sections 4.1 and 4.3. */
async function askProvider({ issuer }: OpenidConnectConfig): Promise<Finding> {
  const subject = 'authentication.openidConnect.issuer'
  const url = `${removeTrailingSlashes(issuer)}/.well-known/openid-configuration`
  const answer = await ask({ url })
  const consequence = 'nobody can sign in until it does'
  if ('problem' in answer) return warningFinding(subject, `${url} ${answer.problem}: ${consequence}`)
  if (answer.status !== 200) return warningFinding(subject, `${url} answers ${answer.status}: is this the issuer?`)
  const namedIssuer = isObject(answer.body) ? answer.body.issuer : undefined
  if (typeof namedIssuer === 'string' && removeTrailingSlashes(namedIssuer) === removeTrailingSlashes(issuer))
    return answersFinding(subject, url)
  const who =
    typeof namedIssuer === 'string'
      ? `names the issuer ${namedIssuer}; write that`
      : 'is not the metadata of a provider'
  return warningFinding(subject, `${url} ${who}`)
}

/** Reads the query at the verifier that requests another credential, with the API key. */
async function askVerifier({ verifier, apiKey, verificationQueryId: id }: PresentationConfig): Promise<Finding> {
  const within = 'authentication.presentation.'
  const url = `${verifier}/verification-query/${encodeURIComponent(id)}`
  const answer = await ask({ url, headers: { authorization: `Bearer ${apiKey}` } })
  if ('problem' in answer) return warningFinding(`${within}verifier`, `${url} ${answer.problem}: nobody can sign in`)
  if (answer.status === 200) return answersFinding(`${within}verifier`, url)
  if (answer.status === 401)
    return warningFinding(`${within}apiKey`, `${verifier} refuses it; write one of its integrations.authentication`)
  if (answer.status === 404)
    return warningFinding(`${within}verificationQueryId`, `${verifier} has no query ${id}; create it there`)
  return warningFinding(`${within}verifier`, `${url} answers ${answer.status}: is this the verifier?`)
}

/** Asks the host of the application alone: a request to the whole URL might be taken for a callback. */
async function askApplication(url: string): Promise<Finding> {
  const subject = 'sessionCallback.url'
  const { origin } = new URL(url)
  // The answer to HEAD has no body, but may have the length of one.
  const answer = await ask({ url: origin, method: 'HEAD', maxBytes: Infinity })
  return 'problem' in answer
    ? warningFinding(subject, `${origin} ${answer.problem}: callbacks wait until it does`)
    : answersFinding(subject, origin)
}

/**
 * Returns the answer to a request, its body undefined if it is not JSON; or in words why there is none. The parties are
 * those of the operator, so that they may be in this network, as for the services.
 */
async function ask(
  request: Pick<HttpClientRequest, 'url'> & Partial<HttpClientRequest>,
): Promise<PartyAnswer | Problem> {
  const limits = { timeoutMs: ANSWER_MS, maxBytes: MAX_BYTES, allowPrivateAddresses: true }
  try {
    const { status, body } = await outbound({ ...limits, ...request })
    return { status, body: readOrUndefined(() => parseJson(body)) }
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    return { problem: `gives no whole answer (${error.message})` }
  }
}

interface PartyAnswer {
  readonly status: number
  readonly body: Json | undefined
}

function answersFinding(subject: string, url: string): Finding {
  return makeFinding(subject, 'ok', `${url} answers`)
}

function warningFinding(subject: string, text: string): Finding {
  return makeFinding(subject, 'warning', text)
}
