/** Starting an issuance session: the dataset is held against every configuration before anything is stored. */
import { toBase64url } from '../codec/base64url.ts'
import { countValues, type JsonObject } from '../codec/json.ts'
import { MAX_DISCLOSURES } from '../codec/sd-jwt.ts'
import { recorded } from '../event/event.ts'
import type { Remember } from '../http/idempotency.ts'
import { pathText, selectClaims } from '../protocol/claim-path.ts'
import { refuse } from '../protocol/error.ts'
import type { CredentialConfiguration } from '../protocol/oid4vci.ts'
import { formatOfConfiguration, offeredConfiguration } from './configurations.ts'
import type { IssuerContext } from './context.ts'
import { keepSuppliedCode, refuseUsedCode } from './pre-authorized-code.ts'
import type { NewSession } from './schemas.ts'
import type { IssuanceSession } from './session.ts'
import { makeTxCode } from './tx-code.ts'

const LIFETIME_SECONDS = 600

/**
 * Starts a session for the dataset. Refuses with `invalid_request`, naming the path, an unknown configuration and
 * a dataset that one of them cannot be filled with; with `invalid_state` a code that was used before. Undefined when a request with the same idempotency key was faster.
 */
export async function startSession(
  context: IssuerContext,
  request: NewSession,
  { caller, remember }: { readonly caller: string; readonly remember: Remember },
) {
  const { credential_configurations: configurationIds } = request
  const dataset = request.credential_dataset as JsonObject
  await refuseUnlessFitting(context, configurationIds, dataset)
  const sessionId = toBase64url(context.random(24))
  const createdAt = context.now().getTime()
  const expiresAt = createdAt + (request.expires_in ?? LIFETIME_SECONDS) * 1000
  const txCode = request.tx_code && makeTxCode(context, sessionId, request.tx_code)
  const { refresh_seconds: refreshSeconds } = request
  const supplied = keepSuppliedCode(context, request['pre-authorized_code'], { sessionId, expiresAt })
  const more = {
    ...supplied.members,
    ...(txCode && { txCode: txCode.stored }),
    ...(refreshSeconds && { refreshSeconds }),
  }
  const value: IssuanceSession = { configurationIds, createdAt, expiresAt, ...more, issued: [] }
  const offerUri = `${context.config.baseUrl}/issuance/oid4vci/credential-offer/${sessionId}`
  const answer = {
    session_id: sessionId,
    credential_offer_uri: `haip-vci://?credential_offer_uri=${encodeURIComponent(offerUri)}`,
    ...(txCode?.generated === undefined ? {} : { tx_code: txCode.generated }),
  }
  const once = remember(answer)
  const failed = await context.store.commit([
    ...once,
    { insert: 'issuance_session', id: sessionId, value, dueAt: new Date(expiresAt) },
    { insert: 'issuance_dataset', id: sessionId, value: dataset },
    recorded({ type: 'issuance.started', at: createdAt, sessionId, caller }, context.random),
    ...supplied.changes,
  ])
  if (failed !== undefined && failed >= once.length) refuseUsedCode()
  return failed === undefined ? answer : undefined
}

/** Every configuration is there, and can be filled with the dataset. */
async function refuseUnlessFitting(
  context: IssuerContext,
  configurationIds: readonly string[],
  dataset: JsonObject,
): Promise<void> {
  refuseTooMany(dataset)
  for (const [index, id] of configurationIds.entries()) {
    const configuration = await offeredConfiguration(context, id)
    if (configuration === undefined) {
      return refuse(
        'invalid_request',
        `credential_configurations[${index}]: there is no credential configuration ${id}`,
      )
    }
    const format = formatOfConfiguration(configuration)
    format.checkDataset(dataset, configuration)
    refuseUnlessComplete(format.claimsOf(dataset), configuration)
  }
}

/** Each may become a disclosure, and a reader of SD-JWTs takes no more of them. */
function refuseTooMany(dataset: JsonObject): void {
  for (const [name, value] of Object.entries(dataset)) {
    if (countValues(value) > MAX_DISCLOSURES) {
      refuse('invalid_request', `credential_dataset.${name}: it holds more than ${MAX_DISCLOSURES} claims`)
    }
  }
}

function refuseUnlessComplete(claims: JsonObject, configuration: JsonObject): void {
  // It had this shape when it was posted.
  const { credential_metadata: metadata } = configuration as CredentialConfiguration
  for (const { path, mandatory } of metadata?.claims ?? []) {
    if (mandatory === true && 'problem' in selectClaims(claims, path)) {
      refuse(
        'invalid_request',
        `${pathText(['credential_dataset', ...path])}: this claim is mandatory in a credential configuration`,
      )
    }
  }
}
