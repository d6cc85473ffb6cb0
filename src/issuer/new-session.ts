/** Starts issuance sessions. */

import type { JsonObject } from '../codec/json.ts'
import { refuseEndedCertificate } from '../config/certificate-end.ts'
import { MAX_REFRESH_SECONDS } from '../config/retention.ts'
import type { Configuration } from '../credential/format.ts'
import { makeEventChange } from '../event/event.ts'
import type { MakeAnswerChanges } from '../http/idempotency.ts'
import { refuse } from '../protocol/error.ts'
import { AUTHORIZATION_CODE_GRANT, PRE_AUTHORIZED_GRANT } from '../protocol/grant-types.ts'
import type { Attempt } from '../store/retry.ts'
import type { Change } from '../store/store.ts'
import { makeTimeOrderedId } from '../store/time-ordered-id.ts'
import { makeSuppliedCodeChanges, refuseUsedCode } from './access/pre-authorized-code.ts'
import { claimNamesOf } from './claims-dataset.ts'
import type { IssuerCollections, SessionDataset } from './collections.ts'
import { loadOffered } from './configurations.ts'
import type { IssuerContext } from './context.ts'
import { refuseUnfittingDataset } from './dataset.ts'
import { endpointUrl, ISSUER_PATHS } from './issuer-addresses.ts'
import type { NewIssuanceSession } from './schemas.ts'
import { hasGrant, type IssuanceSession } from './session.ts'
import { decryptTxCode, encryptTxCode, makeTxCode } from './token-endpoint/tx-code.ts'

const LIFETIME_SECONDS = 600
/** How long a wallet can return to a deferred session if the application sets no time: seven days. */
const DEFERRED_REFRESH_SECONDS = 604_800

export type NewSessionAnswer = {
  readonly session_id: string
  readonly credential_offer_uri: string
  readonly tx_code?: string
}

/**
 * Starts a session, with its dataset or deferred. Refuses with `invalid_request` and the path an unknown configuration
 * and a dataset that does not fit one of them, with `invalid_state` a supplied code that was used before, and like
 * {@link refuseEndedCertificate}. Returns the conflicting change if a request with the same idempotency key was first.
 * The transaction code in the answer is encrypted, because the answer is stored; {@link decryptAnswer} decrypts it
 * before the answer is sent.
 */
export async function startIssuanceSession(
  context: IssuerContext,
  request: NewIssuanceSession,
  { caller, makeAnswerChanges }: { readonly caller: string; readonly makeAnswerChanges: MakeAnswerChanges },
): Promise<Attempt<NewSessionAnswer>> {
  refuseEndedCertificate(context.config.keys, context.now())
  const { credential_configurations: configurationIds, person } = request
  const configurations = await Promise.all(
    configurationIds.map((id, index) => requireOfferedConfiguration(context, id, index)),
  )
  const offeredGrants = chooseGrants(context, request)
  refuseContraryGrants(context, request, offeredGrants)
  refuseUnfittingPerson(context, request, offeredGrants)
  const dataset = readDataset(request)
  if (dataset !== undefined) refuseUnfittingDataset(dataset, configurations)
  const createdAt = context.now().getTime()
  const sessionId = makeTimeOrderedId(createdAt, context.random(18))
  const expiresAt = createdAt + (request.expires_in ?? LIFETIME_SECONDS) * 1000
  const txCode = request.tx_code && makeTxCode(context, sessionId, request.tx_code)
  const suppliedCode = makeSuppliedCodeChanges(context, request['pre-authorized_code'], { sessionId, expiresAt })
  const value: IssuanceSession = {
    configurationIds,
    createdAt,
    expiresAt,
    ...offeredGrants,
    ...(person && { person }),
    ...suppliedCode.members,
    ...(txCode && { txCode: txCode.record }),
    ...addReissueTime(makeRefreshMembers(request), configurations),
    issued: [],
  }
  const answer = makeAnswer(context, sessionId, txCode?.generatedValue)
  const conflict = await context.store.commit([
    ...makeAnswerChanges(answer),
    ...makeSessionChanges(context, sessionId, { value, dataset, caller }),
    ...suppliedCode.changes,
  ])
  if (suppliedCode.changes.some((change) => change === conflict)) refuseUsedCode()
  return conflict === undefined ? { committed: answer } : { conflict }
}

/** Makes a session without an offer, for an authorization request. Returns its id and the changes to commit. */
export async function makeSessionOfRequest(
  context: IssuerContext,
  request: Pick<NewIssuanceSession, 'deferred' | 'refresh_seconds'> & { readonly credential_dataset?: SessionDataset },
  { configurationIds, caller }: { readonly configurationIds: readonly string[]; readonly caller: string },
): Promise<{ readonly sessionId: string; readonly changes: readonly Change<IssuerCollections>[] }> {
  const configurations = await Promise.all(configurationIds.map(context.loadConfiguration))
  const createdAt = context.now().getTime()
  const sessionId = makeTimeOrderedId(createdAt, context.random(18))
  const expiresAt = createdAt + LIFETIME_SECONDS * 1000
  const refreshMembers = addReissueTime(makeRefreshMembers(request), configurations)
  const value = { configurationIds, createdAt, expiresAt, grants: [], ...refreshMembers, issued: [] }
  const { credential_dataset: dataset } = request
  return { sessionId, changes: makeSessionChanges(context, sessionId, { value, dataset, caller }) }
}

/** Returns the changes that store a session, its dataset if it has one, and its event. */
function makeSessionChanges(
  { random }: IssuerContext,
  id: string,
  {
    value,
    dataset,
    caller,
  }: { readonly value: IssuanceSession; readonly dataset: SessionDataset | undefined; readonly caller: string },
): readonly Change<IssuerCollections>[] {
  const { createdAt, expiresAt } = value
  return [
    { insert: 'issuance_session', id, value, dueAt: new Date(expiresAt), createdAt: new Date(createdAt) },
    ...(dataset === undefined ? [] : [{ insert: 'issuance_dataset', id, value: dataset } as const]),
    makeEventChange({ type: 'issuance.started', at: createdAt, sessionId: id, caller }, random),
  ]
}

/** Makes the answer for a new session, with the generated transaction code encrypted. */
function makeAnswer(context: IssuerContext, sessionId: string, generatedCode: string | undefined): NewSessionAnswer {
  const offerUri = endpointUrl(context.config.baseUrl, ISSUER_PATHS.offer, sessionId)
  return {
    session_id: sessionId,
    credential_offer_uri: `haip-vci://?credential_offer_uri=${encodeURIComponent(offerUri)}`,
    ...(generatedCode === undefined ? {} : { tx_code: encryptTxCode(context, sessionId, generatedCode) }),
  }
}

/** Decrypts the transaction code of an answer, before it is sent for the first time or repeated. */
export function decryptAnswer(
  context: IssuerContext,
  { tx_code: encryptedCode, ...answer }: NewSessionAnswer,
): NewSessionAnswer {
  const code = encryptedCode === undefined ? undefined : decryptTxCode(context, answer.session_id, encryptedCode)
  return code === undefined ? answer : { ...answer, tx_code: code }
}

/**
 * Returns the grants of the offer as a session member; empty for the pre-authorized code grant alone. HAIP 1.0,
 * Credential Offer.
 */
function chooseGrants({ config }: IssuerContext, { grants }: NewIssuanceSession): Pick<IssuanceSession, 'grants'> {
  if (config.profile === undefined) return grants ? { grants } : {}
  if (grants?.includes(PRE_AUTHORIZED_GRANT)) {
    refuse('invalid_request', 'grants: the profile haip has the grant authorization_code alone; leave grants out')
  }
  return { grants: [AUTHORIZATION_CODE_GRANT] }
}

/**
 * Refuses with `invalid_request`: a grant without a configured authorization endpoint, a dataset that anybody who signs
 * in would get, and members of the pre-authorized code grant without that grant.
 */
function refuseContraryGrants(
  { externalAuthorizationServer, config }: IssuerContext,
  request: NewIssuanceSession,
  offered: Pick<IssuanceSession, 'grants'>,
): void {
  const hasEndpoint = externalAuthorizationServer !== undefined || config.codeFlow !== undefined
  if (hasGrant(offered, AUTHORIZATION_CODE_GRANT) && !hasEndpoint) {
    const problem = 'needs the setting authentication, or authorizationServer: nobody would ask who the person is'
    refuse('invalid_request', `grants: ${AUTHORIZATION_CODE_GRANT} ${problem}`)
  }
  const { openidConnect, presentation, trustsOffers } = config.codeFlow ?? {}
  const isTrusted = trustsOffers === true && request.tx_code === undefined
  const isGuarded = (openidConnect ?? presentation) !== undefined && !isTrusted
  const isForAnybody = request.credential_dataset !== undefined && request.person === undefined
  if (isGuarded && hasGrant(offered, AUTHORIZATION_CODE_GRANT) && isForAnybody) {
    const ways = openidConnect ? 'say by person whom it is for, or leave it out and' : 'leave it out, and'
    const advice = `${ways} start the session with deferred: true; the claims of the person become the dataset`
    refuse('invalid_request', `credential_dataset: anybody who signs in could take it; ${advice}`)
  }
  const strayMember = (['pre-authorized_code', 'tx_code'] as const).find((name) => request[name] !== undefined)
  if (strayMember !== undefined && !hasGrant(offered, PRE_AUTHORIZED_GRANT)) {
    refuse(
      'invalid_request',
      `${strayMember}: goes with the grant ${PRE_AUTHORIZED_GRANT}; add it to grants, or leave ${strayMember} out`,
    )
  }
}

/**
 * Refuses with `invalid_request` a `person` unless people sign in for the offer and the provider is asked for all its
 * claims.
 */
function refuseUnfittingPerson(
  { config }: IssuerContext,
  { person, credential_dataset: dataset }: NewIssuanceSession,
  offered: Pick<IssuanceSession, 'grants'>,
): void {
  if (person === undefined) return
  const { openidConnect } = config.codeFlow ?? {}
  if (openidConnect === undefined) {
    refuse('invalid_request', 'person: goes with authentication.openidConnect, where people sign in; leave it out')
  }
  if (dataset === undefined) refuse('invalid_request', 'person: goes with credential_dataset, which is for that person')
  if (hasGrant(offered, PRE_AUTHORIZED_GRANT)) {
    refuse('invalid_request', `person: goes with the grant ${AUTHORIZATION_CODE_GRANT} alone; others ask nobody`)
  }
  const requestedClaims = ['sub', ...claimNamesOf(openidConnect.datasets.values())]
  const unknownClaim = Object.keys(person).find((name) => !requestedClaims.includes(name))
  if (unknownClaim !== undefined) {
    refuse(
      'invalid_request',
      `person.${unknownClaim}: it is not asked for; use ${requestedClaims.join(', ')}, or name it in datasets`,
    )
  }
}

/** Makes `refreshSeconds` and `deferral` of a new session. */
function makeRefreshMembers({
  deferred,
  refresh_seconds: seconds,
}: Pick<NewIssuanceSession, 'deferred' | 'refresh_seconds'>) {
  const refreshSeconds = seconds ?? (deferred ? DEFERRED_REFRESH_SECONDS : undefined)
  return { ...(deferred && { deferral: { waiting: [] } }), ...(refreshSeconds && { refreshSeconds }) }
}

/**
 * Adds `refreshSeconds`, unless the application set it, if the reuse policy of a credential lets wallets request new
 * ones: for as long as the first credentials are valid. ETSI TS 119 472-3 section 4.2.4.
 */
function addReissueTime<T extends Pick<IssuanceSession, 'refreshSeconds'>>(
  refreshMembers: T,
  configurations: readonly (Configuration | undefined)[],
): T {
  const seconds = configurations.flatMap((configuration) => {
    const { posted, validitySeconds = 0 } = configuration ?? {}
    const options = posted?.credential_metadata?.credential_reuse_policy?.options ?? []
    const isRenewed = options.some(
      (option) => option.reissue_trigger_unused !== undefined || option.reissue_trigger_lifetime_left !== undefined,
    )
    return isRenewed ? [Math.min(validitySeconds, MAX_REFRESH_SECONDS)] : []
  })
  const refreshSeconds = refreshMembers.refreshSeconds ?? (seconds.length === 0 ? undefined : Math.max(...seconds))
  return { ...refreshMembers, ...(refreshSeconds && { refreshSeconds }) }
}

async function requireOfferedConfiguration(context: IssuerContext, id: string, index: number): Promise<Configuration> {
  const problem = `credential_configurations[${index}]: there is no credential configuration ${id}`
  return (await loadOffered(context, id)) ?? refuse('invalid_request', problem)
}

function readDataset({ credential_dataset: dataset, deferred }: NewIssuanceSession): JsonObject | undefined {
  if (deferred && dataset !== undefined) {
    refuse('invalid_request', 'credential_dataset: a deferred session gets it when it is completed; leave it out')
  }
  if (deferred || dataset !== undefined) return dataset
  return refuse('invalid_request', 'credential_dataset: required, unless the session is deferred (deferred: true)')
}
