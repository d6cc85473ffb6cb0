/** Selects the kind of key for a credential. OpenID4VCI 1.0, Credential Issuer Metadata Parameters. */
import { isObject, type Json, type JsonObject, memberOf, stringsIn } from '../codec/json.ts'
import { didUrlOf, toDidJwk, toDidKey } from '../keys/did.ts'
import type { PublicJwk } from '../keys/jwk.ts'
import { type Algorithm, type AlgorithmDetails, algorithms, joseAlgorithms } from '../keys/signature.ts'
import { refuseWith } from './error.ts'

/** The kind of key to make, and the form of its proof. */
export interface ProofKey {
  readonly algorithm: Algorithm
  /** The algorithm's name in the issuer's metadata; an algorithm may have two names. */
  readonly alg: string
  readonly method: BindingMethod
  /** The required attestation; absent if none is required. */
  readonly attestation?: JsonObject
}

/**
 * The supported binding methods in order of preference. Known issuers expect a DID in `kid`. The issuer of an mdoc
 * makes its COSE key of the JWK in the proof.
 */
const BINDING_METHODS = ['did:jwk', 'jwk', 'did:key', 'cose_key'] as const
type BindingMethod = (typeof BINDING_METHODS)[number]
/** The supported algorithms by their names in metadata, in order of preference. */
const PROOF_ALGORITHMS = (Object.entries(algorithms) as [Algorithm, AlgorithmDetails][]).flatMap(
  ([algorithm, { jose }]) => jose.map((alg) => ({ algorithm, alg })),
)

/**
 * Selects the key for a credential. Refuses with `unsupported` a credential that is not bound to a key, and one that
 * requires key attestations if the wallet cannot make them.
 */
export function chooseProofKey(configuration: JsonObject, canAttest: boolean): ProofKey {
  const proof = requireJwtProof(memberOf(configuration, 'proof_types_supported'))
  const algs = stringsIn(memberOf(proof, 'proof_signing_alg_values_supported'))
  const proofAlgorithm = PROOF_ALGORITHMS.find(({ alg }) => algs.includes(alg))
  if (proofAlgorithm === undefined) {
    const walletAlgorithms = joseAlgorithms.join(', ')
    return refuseWith(
      'unsupported',
      `the issuer takes no key proof of the type jwt signed with one of ${walletAlgorithms}`,
    )
  }
  const requirements = memberOf(proof, 'key_attestations_required')
  if (requirements !== undefined && !canAttest) {
    const hint = 'wallet attest gives it a provider for tests'
    refuseWith(
      'unsupported',
      `the issuer wants an attestation of the key, and this wallet has nobody to attest it; ${hint}`,
    )
  }
  const attestationMember = isObject(requirements) ? { attestation: requirements } : {}
  const methods = stringsIn(memberOf(configuration, 'cryptographic_binding_methods_supported'))
  const method = BINDING_METHODS.find((each) => methods.includes(each))
  const issuerMethods = methods.join(', ') || 'nothing'
  return method === undefined
    ? refuseWith(
        'unsupported',
        `the issuer binds credentials by ${issuerMethods}, not by ${BINDING_METHODS.join(', ')}`,
      )
    : { ...proofAlgorithm, method, ...attestationMember }
}

/** Returns the member `jwt` of the proof types. Refuses with `unsupported` an issuer that has none. */
function requireJwtProof(proofTypes: Json | undefined): Json {
  const types = isObject(proofTypes) ? Object.keys(proofTypes) : []
  if (types.length === 0) {
    refuseWith(
      'unsupported',
      'the issuer takes no key proof, so that anybody who has the credential could present it; this wallet keeps none',
    )
  }
  const others = `the issuer takes key proofs of the type ${types.join(' or ')}`
  return (
    memberOf(proofTypes, 'jwt') ?? refuseWith('unsupported', `${others}, and this wallet makes those of the type jwt`)
  )
}

/** Makes the header members that identify the key. OpenID4VCI 1.0, jwt Proof Type. */
export function proofHeader({ alg, method }: ProofKey, jwk: PublicJwk): JsonObject {
  if (method === 'jwk' || method === 'cose_key') return { alg, jwk: { ...jwk } }
  return { alg, kid: didUrlOf(method === 'did:jwk' ? toDidJwk(jwk) : toDidKey(jwk)) }
}
