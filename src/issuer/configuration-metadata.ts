/**
 * The metadata of a credential configuration: its posted members, and those that follow from its format and the
 * issuer's key. OpenID4VCI 1.0, Credential Issuer Metadata Parameters, and its drafts 13 to 15.
 */
import { isObject, type JsonObject, memberOf } from '../codec/json.ts'
import type { Configuration } from '../credential/format.ts'
import { ownConfigurationMembers } from '../credential/formats.ts'
import type { Signer } from '../keys/signer.ts'
import type { ClaimPath } from '../protocol/claim-path-text.ts'
import { INTERNAL_MEMBERS } from '../protocol/credential-configuration.ts'
import type { IssuerConfig } from './config.ts'

/** The members that the metadata leaves out. */
const HIDDEN_MEMBERS: readonly string[] = [...INTERNAL_MEMBERS, ...ownConfigurationMembers.map(({ member }) => member)]

/** Makes the metadata of a configuration in the form of the final specification, with `mandatory` always present. */
export function configurationMetadata(
  configuration: Configuration,
  signer: Signer,
  { proofAlgorithms }: Pick<IssuerConfig, 'proofAlgorithms'>,
): JsonObject {
  const { format, posted } = configuration
  const members = Object.entries(posted).filter(([name]) => !HIDDEN_MEMBERS.includes(name))
  const { credential_metadata: metadata } = posted
  const claims = metadata?.claims?.map((claim) => ({ mandatory: false, ...claim }))
  return {
    ...(Object.fromEntries(members) as JsonObject),
    ...(metadata && { credential_metadata: { ...metadata, ...(claims && { claims }) } }),
    ...proofTypes(configuration, proofAlgorithms),
    credential_signing_alg_values_supported: [format.signingAlgorithm(signer.alg)],
  }
}

/**
 * Makes `cryptographic_binding_methods_supported` and `proof_types_supported`, which metadata has both or neither of.
 * OpenID4VCI 1.0, Credential Issuer Metadata Parameters.
 */
function proofTypes({ format, keyAttestation }: Configuration, algorithms: readonly string[]): JsonObject {
  const proof = {
    proof_signing_alg_values_supported: [...algorithms],
    ...(keyAttestation && { key_attestations_required: keyAttestation }),
  }
  return {
    cryptographic_binding_methods_supported: [...format.bindingMethods],
    proof_types_supported: keyAttestation === undefined ? { jwt: proof } : { jwt: proof, attestation: proof },
  }
}

/**
 * Makes the metadata of a configuration in the form of drafts 13 to 15: `display` and `claims` are members of the
 * configuration itself, and algorithms have names. With `draft13`, claims are nested objects, and SD-JWT VC has the
 * format identifier of that draft.
 */
export function makeOlderConfigurationMetadata(
  configuration: Configuration,
  signer: Signer,
  config: Pick<IssuerConfig, 'proofAlgorithms' | 'draft13'>,
): JsonObject {
  const { draft13 } = config
  const { olderId } = configuration.format
  // Strict wallets of these drafts refuse a configuration with the member of the final specification.
  const { credential_metadata: metadata, ...members } = configurationMetadata(configuration, signer, config)
  const [display, claims] = isObject(metadata) ? [memberOf(metadata, 'display'), memberOf(metadata, 'claims')] : []
  return {
    ...members,
    credential_signing_alg_values_supported: [signer.alg],
    ...(display === undefined ? {} : { display }),
    ...(claims === undefined ? {} : draft13 ? makeDraft13Claims(members, claims as JsonObject[]) : { claims }),
    ...(draft13 && olderId !== undefined ? { format: olderId } : {}),
  }
}

/**
 * Makes the members for the claims of a configuration in draft 13: in `credential_definition` for W3C formats, and in
 * `claims` for the others.
 */
function makeDraft13Claims(members: JsonObject, claims: readonly JsonObject[]): JsonObject {
  const tree = claimTree(claims.map(({ path, ...description }) => ({ path: path as ClaimPath, description })))
  const definition = memberOf(members, 'credential_definition')
  if (!isObject(definition)) return { claims: tree }
  return { credential_definition: { ...definition, credentialSubject: memberOf(tree, 'credentialSubject') ?? {} } }
}

interface ClaimAtPath {
  readonly path: ClaimPath
  readonly description: JsonObject
}

/** Makes nested objects of claim paths. Paths through arrays have no such form and are left out. */
function claimTree(claims: readonly ClaimAtPath[]): JsonObject {
  const names = new Set(claims.flatMap(({ path: [name] }) => (typeof name === 'string' ? name : [])))
  return Object.fromEntries(
    [...names].map((name) => {
      const below = claims.filter(({ path }) => path[0] === name)
      const itself = below.find(({ path }) => path.length === 1)?.description
      const inner = below.map(({ path, description }) => ({ path: path.slice(1), description }))
      return [name, { ...itself, ...claimTree(inner) }]
    }),
  )
}
