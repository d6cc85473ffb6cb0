/**
 * Validates configurations of W3C credentials as SD-JWT. OpenID4VCI 1.0, appendix VC Signed as a JWT, Using JSON-LD.
 */

import type { CredentialConfiguration } from '../../protocol/credential-configuration.ts'
import { refuse } from '../../protocol/error.ts'
import { requireStrings } from '../validation.ts'
import { VCDM_1_CONTEXT, VCDM_2_CONTEXT } from '../w3c/members.ts'
import { parseDefinition, type W3cMembers } from '../w3c/validation.ts'

/**
 * Parses the members of this format. Refuses with `invalid_request` a `credential_definition` whose first context is
 * not that of the data model, or without the type `VerifiableCredential`. VCDM 2.0 and 1.1, Contexts.
 */
export function parseMembers(postedConfiguration: CredentialConfiguration): W3cMembers {
  const { types, contexts: postedContexts } = parseDefinition(postedConfiguration, '@context and type')
  const contexts = requireStrings(postedContexts, 'credential_definition.@context')
  if (contexts[0] !== VCDM_2_CONTEXT && contexts[0] !== VCDM_1_CONTEXT) {
    const hint = `it must begin with ${VCDM_2_CONTEXT}, or with ${VCDM_1_CONTEXT}`
    refuse('invalid_request', `credential_definition.@context: ${hint}`)
  }
  const { selective_disclosure: disclosure } = postedConfiguration
  for (const [index, path] of (Array.isArray(disclosure) ? disclosure : []).entries()) {
    if (path[0] !== 'credentialSubject' || path.length < 2) {
      const where = `selective_disclosure[${index}]`
      refuse(
        'invalid_request',
        `${where}: in this format only paths below credentialSubject can be disclosed selectively`,
      )
    }
  }
  return { types, contexts }
}
