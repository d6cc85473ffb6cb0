/**
 * Validates configurations of W3C credentials as JWTs. OpenID4VCI 1.0, appendix VC Signed as a JWT, Not Using JSON-LD.
 */
import type { CredentialConfiguration } from '../../protocol/credential-configuration.ts'
import { refuse } from '../../protocol/error.ts'
import { VCDM_1_CONTEXT } from '../w3c/members.ts'
import { parseDefinition, type W3cMembers } from '../w3c/validation.ts'

/** The members that only configurations of this format have. */
export interface W3cJwtMembers extends W3cMembers {
  /** Whether the DID of the holder's key is the `id` of the subject. */
  readonly isHolderSubject: boolean
}

/**
 * Parses the members of this format. Refuses with `invalid_request` a `credential_definition` without
 * `VerifiableCredential` or for another data model, and a `selective_disclosure` that is not `"none"`.
 */
export function parseMembers(postedConfiguration: CredentialConfiguration): W3cJwtMembers {
  const { types, contexts = [VCDM_1_CONTEXT] } = parseDefinition(postedConfiguration, 'type')
  if (contexts[0] !== VCDM_1_CONTEXT) {
    refuse('invalid_request', `credential_definition.@context: in this format it must begin with ${VCDM_1_CONTEXT}`)
  }
  const { selective_disclosure: disclosure } = postedConfiguration
  if (disclosure !== undefined && disclosure !== 'none') {
    refuse(
      'invalid_request',
      'selective_disclosure: nothing can be hidden in this format; leave it out, or use jwt_vc_json-ld',
    )
  }
  return { types, contexts, isHolderSubject: postedConfiguration.subject === 'holder' }
}
