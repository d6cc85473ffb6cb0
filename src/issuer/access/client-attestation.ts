/**
 * Authenticates wallets by wallet attestation. The wallet provider attests a key of a wallet instance, and the instance
 * proves possession of that key. The single checks are in `client-checks.ts`. OpenID4VCI 1.0, Wallet Attestations in
 * JWT format; HAIP 1.0, Wallet Attestation; Attestation-Based Client Authentication.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { allHold, type CheckResult, type CheckRun, runChecks } from '../../check/check.ts'
import { refuse } from '../../protocol/error.ts'
import type { AuthorizedClient } from '../issued-tokens.ts'
import { type ClientCheckContext, clientChecks, clientReadingChecks } from './client-checks.ts'
import { type ClientEvidence, readClientHeaders } from './client-headers.ts'
import type { AccessContext } from './context.ts'
import { proofUseOf, type StoredUse } from './single-use.ts'

/** The parts of a request that identify the client. */
export interface ClientRequest {
  /** The values of the headers `OAuth-Client-Attestation` and `OAuth-Client-Attestation-PoP`. */
  readonly attestation: string | undefined
  readonly pop: string | undefined
  readonly requestId: string
}

/** The client that a request names, and the audiences that its proof may have. */
export interface ExpectedClient {
  /** The parameter `client_id`, if present. */
  readonly clientId: string | undefined
  /** The identifiers of this issuer that the `aud` of the proof may have. */
  readonly audiences: readonly string[]
}

/** A wallet instance that has authenticated itself. */
export interface AuthenticatedClient extends Required<AuthorizedClient> {
  /** Marks the proof of possession as used; each proof can be used once. */
  readonly singleUse: StoredUse
}

/** A grant that is bound to a client, and to a key, as refusals name it. */
export type BoundGrant = 'authorization code' | 'refresh token'

type ClientContext = Pick<AccessContext, 'config' | 'now' | 'log' | 'attestationChallenges' | 'attestationStatus'>

/**
 * Makes the hook that adds a challenge for the next proof to each response for a request with a wallet attestation.
 * Section 6.2 of the draft.
 */
export function createAttestationChallengeHook(context: AccessContext) {
  return ({ headers }: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const isAttested = headers['oauth-client-attestation'] !== undefined
    if (isAttested && context.config.clientAuthentication !== undefined) {
      reply.header('oauth-client-attestation-challenge', context.attestationChallenges.getCurrent(context.now()))
    }
    done()
  }
}

/** Returns the parts of a request that identify the client. */
export function readClientRequest({ headers, id }: FastifyRequest): ClientRequest {
  const readHeader = (name: string): string | undefined => {
    const value = headers[name]
    return Array.isArray(value) ? value.join() : value
  }
  return {
    attestation: readHeader('oauth-client-attestation'),
    pop: readHeader('oauth-client-attestation-pop'),
    requestId: id,
  }
}

/**
 * Authenticates the wallet instance of a request. Returns undefined for a request without an attestation, and where
 * clients are not authenticated. Refuses with `invalid_client` a missing attestation that is required, with
 * `invalid_client_attestation` an attestation or a proof that fails a check, and with `use_attestation_challenge` a
 * proof that fails only the check of its challenge. The report of all checks goes to the log.
 */
export async function authenticateClient(
  context: ClientContext,
  request: ClientRequest,
  { clientId, audiences }: ExpectedClient,
): Promise<AuthenticatedClient | undefined> {
  const { clientAuthentication: settings, clockSkewSeconds, profile, tokenAlgorithms: algorithms } = context.config
  if (settings === undefined) return undefined
  if (request.attestation === undefined && request.pop === undefined) {
    if (settings.required) {
      refuse('invalid_client', 'wallets authenticate themselves here: send a wallet attestation and a proof of its key')
    }
    return undefined
  }
  const checkContext: ClientCheckContext = {
    now: context.now(),
    clockSkewSeconds,
    profile,
    algorithms,
    anchors: settings.anchors,
    clientId,
    audiences,
    challenges: context.attestationChallenges,
    challengeRequired: settings.challengeRequired,
    status: context.attestationStatus,
  }
  const reading = readClientHeaders(request)
  const run: CheckRun = { logger: context.log, requestId: request.requestId, judged: 'wallet attestation' }
  const evidence = 'evidence' in reading ? reading.evidence : undefined
  const report = [
    ...(await runChecks(clientReadingChecks, reading, checkContext, run)),
    ...(await runChecks(clientChecks, evidence, checkContext, run)),
  ]
  if (evidence === undefined || !allHold(report)) return refuseUnauthenticated(report, run)
  return clientOf(evidence)
}

/**
 * Refuses with `invalid_grant` a wallet instance other than the one that the authorization code or refresh token was
 * issued to. RFC 6749 sections 4.1.3 and 6.
 */
export function refuseOtherInstance(
  grant: BoundGrant,
  client: AuthorizedClient | undefined,
  authenticatedClient: AuthenticatedClient | undefined,
): void {
  if (client?.instance === undefined) return
  if (authenticatedClient === undefined)
    refuse('invalid_grant', `the ${grant} is bound to a wallet instance; send its attestation`)
  if (authenticatedClient.id !== client.id || authenticatedClient.instance !== client.instance) {
    refuse('invalid_grant', `the ${grant} is bound to another wallet instance; begin again with this one`)
  }
}

/** Refuses a wallet whose authentication failed. The log gets every failed check, and the wallet the first one. */
function refuseUnauthenticated(report: readonly CheckResult[], { logger, requestId }: CheckRun): never {
  const unmetChecks = report.filter(({ outcome }) => outcome === 'failed' || outcome === 'not_run')
  const checks = unmetChecks.map(({ id, outcome, detail }) => ({ id, outcome, detail }))
  const logFields = { event: 'client_not_authenticated', request: requestId, checks }
  logger.info(logFields, 'a wallet could not authenticate itself')
  const failedChecks = unmetChecks.filter(({ outcome }) => outcome === 'failed')
  const [first] = failedChecks
  if (failedChecks.every(({ id }) => id === 'pop.challenge')) {
    const challengeSource =
      'the header OAuth-Client-Attestation-Challenge of this answer, or from the challenge endpoint'
    return refuse(
      'use_attestation_challenge',
      `the proof of possession needs the challenge of ${challengeSource}; send a new one`,
    )
  }
  return refuse('invalid_client_attestation', `${first?.id ?? 'attestation'}: ${first?.detail ?? 'it does not hold'}`)
}

/** Returns the authenticated client for `evidence` that passed all checks. */
function clientOf({
  pop: { payload },
  popId: id = '',
  readInstanceKey,
  subject = '',
}: ClientEvidence): AuthenticatedClient {
  const { thumbprint: instance } = readInstanceKey()
  const refuseReuse = () =>
    refuse('invalid_client_attestation', 'pop.id: the proof of possession was used before; make a new one')
  const singleUse = proofUseOf({ kind: 'attestation', thumbprint: instance, id, payload }, refuseReuse)
  return { id: subject, instance, singleUse }
}
