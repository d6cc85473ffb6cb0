/**
 * The binding methods and proof types in the metadata of a configuration. OpenID4VCI 1.0, Credential Issuer Metadata
 * Parameters.
 */
import type { JsonObject } from '../codec/json.ts'
import type { Configuration } from '../credential/format.ts'
import { joseAlgorithms } from '../keys/signature.ts'
import type { CredentialConfiguration } from '../protocol/credential-configuration.ts'
import { refuse } from '../protocol/error.ts'
import type { IssuerConfig } from './config.ts'

/**
 * Makes `cryptographic_binding_methods_supported` and `proof_types_supported`, which metadata has both or neither of.
 */
export function proofTypes({ format, keyAttestation }: Configuration): JsonObject {
  const proof = {
    proof_signing_alg_values_supported: [...joseAlgorithms],
    ...(keyAttestation && { key_attestations_required: keyAttestation }),
  }
  return {
    cryptographic_binding_methods_supported: [...format.bindingMethods],
    proof_types_supported: keyAttestation === undefined ? { jwt: proof } : { jwt: proof, attestation: proof },
  }
}

/** Refuses with `invalid_request` a configuration that requires key attestations if no trust anchors are configured. */
export function refuseUnattestable(posted: CredentialConfiguration, config: IssuerConfig): void {
  if (posted.key_attestations_required === undefined || config.keyAttestationTrustAnchors.length > 0) return
  refuse(
    'invalid_request',
    'key_attestations_required: no attester is trusted; name a directory with their certificates in the setting keyAttestationTrustAnchors',
  )
}
