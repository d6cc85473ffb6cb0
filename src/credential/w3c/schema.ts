/**
 * What the configuration of a W3C credential may declare, what its dataset may hold, and what a query may say of its types.
 * OpenID4VCI 1.0, appendix W3C Verifiable Credentials; OpenID4VP 1.0, W3C Verifiable Credentials.
 */
import { isObject, type Json, type JsonObject, own, ownString } from '../../codec/json.ts'
import { checkList, checkText, type Mistakes } from '../../protocol/dcql-parts.ts'
import { refuse } from '../../protocol/error.ts'
import { inForeignMeta, refuseForeignTypes, refuseReserved, refuseUnlessStrings } from '../schema.ts'
import { w3cClaimMistakes } from './claims.ts'

/** The `credential_definition`. Refuses with `invalid_request` one without `VerifiableCredential`. */
export function checkDefinition(configuration: JsonObject, needs: string): JsonObject {
  const definition = own(configuration, 'credential_definition')
  if (!isObject(definition)) {
    return refuse('invalid_request', `credential_definition: this format needs it, with ${needs}`)
  }
  refuseForeignTypes(configuration, 'credential_definition')
  const types = refuseUnlessStrings(own(definition, 'type'), 'credential_definition.type')
  if (!types.includes('VerifiableCredential')) {
    refuse('invalid_request', 'credential_definition.type: it must contain VerifiableCredential')
  }
  return definition
}

/** Refuses with `invalid_request` a dataset without `credentialSubject`, with more than that, or with reserved names. */
export function checkW3cDataset(dataset: JsonObject, configuration: JsonObject): void {
  const subject = own(dataset, 'credentialSubject')
  if (!isObject(subject)) {
    refuse(
      'invalid_request',
      'credential_dataset.credentialSubject: it must be an object with the claims of the subject',
    )
  }
  const stray = Object.keys(dataset).find((name) => name !== 'credentialSubject')
  if (stray !== undefined) {
    const format = ownString(configuration, 'format') ?? ''
    refuse(
      'invalid_request',
      `credential_dataset.${stray}: the format ${format} takes credentialSubject and nothing else`,
    )
  }
  refuseReserved(subject, 'credential_dataset.credentialSubject')
}

/** OpenID4VP 1.0, W3C Verifiable Credentials, Parameters in the `meta` parameter in Credential Query. */
export function* w3cQueryMistakes(query: JsonObject, at: string): Mistakes {
  yield* inTypes(own(query, 'meta'), `${at}.meta`)
  yield* w3cClaimMistakes(query, at)
}

function* inTypes(meta: Json | undefined, at: string): Mistakes {
  if (!isObject(meta)) return
  yield* inForeignMeta(meta, at, 'type_values')
  const types = own(meta, 'type_values')
  if (types !== undefined)
    yield* checkList(types, `${at}.type_values`, (set, setAt) => checkList(set, setAt, checkText))
}
