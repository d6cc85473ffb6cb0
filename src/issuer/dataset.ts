/** Whether what credentials are to be filled with fits their configurations. */
import { countValues, type JsonObject } from '../codec/json.ts'
import { MAX_DISCLOSURES } from '../codec/sd-jwt.ts'
import { pathText, selectClaims } from '../protocol/claim-path.ts'
import { refuse } from '../protocol/error.ts'
import type { CredentialConfiguration } from '../protocol/oid4vci.ts'
import { formatOfConfiguration } from './configurations.ts'

/** Refuses with `invalid_request`, naming the path, a dataset that one of the configurations cannot be filled with. */
export function refuseUnfitting(dataset: JsonObject, configurations: readonly JsonObject[]): void {
  refuseTooMany(dataset)
  for (const configuration of configurations) {
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
