/** What a configuration of W3C credentials as SD-JWT may declare. OpenID4VCI 1.0, appendix VC Signed as a JWT, Using JSON-LD. */
import { type JsonObject, own } from '../../codec/json.ts'
import { refuse } from '../../protocol/error.ts'
import { refuseUnlessStrings } from '../schema.ts'
import { checkDefinition } from '../w3c/schema.ts'

/** Refuses with `invalid_request` a `credential_definition` without contexts or without `VerifiableCredential`. */
export function checkConfiguration(configuration: JsonObject): void {
  const definition = checkDefinition(configuration, '@context and type')
  refuseUnlessStrings(own(definition, '@context'), 'credential_definition.@context')
  const disclosure = own(configuration, 'selective_disclosure')
  if (!Array.isArray(disclosure)) return
  for (const [index, path] of disclosure.entries()) {
    if (!Array.isArray(path) || path[0] !== 'credentialSubject' || path.length < 2) {
      const where = `selective_disclosure[${index}]`
      refuse(
        'invalid_request',
        `${where}: in this format only paths below credentialSubject can be disclosed selectively`,
      )
    }
  }
}
