/**
 * The metadata of a credential configuration: what was posted, and what follows from the format and our keys.
 * OpenID4VCI 1.0, Credential Issuer Metadata Parameters; its drafts 13 to 15, which have some of it elsewhere.
 */
import { isObject, type JsonObject, own } from '../codec/json.ts'
import type { Configuration } from '../credential/format.ts'
import { ownConfigurationMembers } from '../credential/formats.ts'
import type { Signer } from '../keys/signer.ts'
import type { ClaimPath } from '../protocol/claim-path.ts'
import { INTERNAL_MEMBERS } from '../protocol/credential-configuration.ts'
import { proofTypes } from './proof-types.ts'

/** The members that wallets do not get; those of one format are for it alone. */
const HIDDEN_MEMBERS: readonly string[] = [...INTERNAL_MEMBERS, ...ownConfigurationMembers.map(({ member }) => member)]

/** Returns the configuration as the final specification has it, `mandatory` spelled out. */
export function configurationMetadata(configuration: Configuration, signer: Signer): JsonObject {
  const { format, posted } = configuration
  const members = Object.entries(posted).filter(([name]) => !HIDDEN_MEMBERS.includes(name))
  const { credential_metadata: metadata } = posted
  const claims = metadata?.claims?.map((claim) => ({ mandatory: false, ...claim }))
  return {
    ...(Object.fromEntries(members) as JsonObject),
    ...(metadata && { credential_metadata: { ...metadata, ...(claims && { claims }) } }),
    ...proofTypes(configuration),
    credential_signing_alg_values_supported: [format.signingAlgorithm(signer.alg)],
  }
}

/**
 * Makes the metadata of a configuration for wallets of drafts up to 15: display and claims stand in the configuration
 * itself, and algorithms have names. For `draft13`, claims are trees, and an SD-JWT VC has the format identifier of
 * that draft.
 */
export function makeOlderConfigurationMetadata(
  configuration: Configuration,
  signer: Signer,
  draft13: boolean,
): JsonObject {
  const { olderId } = configuration.format
  // Strict readers of these drafts refuse a configuration that also has the member of the final specification.
  const { credential_metadata: metadata, ...members } = configurationMetadata(configuration, signer)
  const [display, claims] = isObject(metadata) ? [own(metadata, 'display'), own(metadata, 'claims')] : []
  return {
    ...members,
    credential_signing_alg_values_supported: [signer.alg],
    ...(display === undefined ? {} : { display }),
    ...(claims === undefined ? {} : draft13 ? makeDraft13Claims(members, claims as JsonObject[]) : { claims }),
    ...(draft13 && olderId !== undefined ? { format: olderId } : {}),
  }
}

/**
 * Makes the members of a configuration that hold its claims in draft 13: W3C formats have them in the credential
 * definition, all others beside it.
 */
function makeDraft13Claims(members: JsonObject, claims: readonly JsonObject[]): JsonObject {
  const tree = claimTree(claims.map(({ path, ...description }) => ({ path: path as ClaimPath, description })))
  const definition = own(members, 'credential_definition')
  if (!isObject(definition)) return { claims: tree }
  return { credential_definition: { ...definition, credentialSubject: own(tree, 'credentialSubject') ?? {} } }
}

interface ClaimAtPath {
  readonly path: ClaimPath
  readonly description: JsonObject
}

/** Makes nested members of the paths of claims. A path through an array has no place there. */
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
