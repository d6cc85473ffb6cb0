/** With which key a wallet can prove what the issuer wants proved. OpenID4VCI 1.0, Credential Issuer Metadata Parameters. */
import { type JsonObject, memberOf, own, stringsIn } from '../codec/json.ts'
import { type Algorithm, type AlgorithmDetails, algorithms, joseAlgorithms } from '../keys/algorithm.ts'
import { didUrlOf, toDidJwk, toDidKey } from '../keys/did.ts'
import type { PublicJwk } from '../keys/jwk.ts'
import { refuse } from './error.ts'

/** The kind of key to make, and how a proof by it is written. */
export interface ProofKey {
  readonly algorithm: Algorithm
  /** The name of the algorithm that the issuer knows: one of them has two. */
  readonly alg: string
  readonly method: BindingMethod
}

/** Those we can, the better first: a DID in `kid` is what the issuers we know expect. */
const BINDING_METHODS = ['did:jwk', 'jwk', 'did:key'] as const
type BindingMethod = (typeof BINDING_METHODS)[number]

/** A credential that is bound to no key could be presented by anybody, so this wallet takes none. Refuses with `unsupported`. */
export function readProofKey(configuration: JsonObject): ProofKey {
  const proof = memberOf(own(configuration, 'proof_types_supported'), 'jwt')
  const algs = stringsIn(memberOf(proof, 'proof_signing_alg_values_supported'))
  // Ours are in the order of how many issuers and verifiers know them.
  const alg = joseAlgorithms.find((name) => algs.includes(name))
  if (alg === undefined) {
    const ours = joseAlgorithms.join(', ')
    return refuse('unsupported', `the issuer takes no key proof of the type jwt signed with one of ${ours}`)
  }
  if (memberOf(proof, 'key_attestations_required') !== undefined) {
    refuse('unsupported', 'the issuer wants an attestation of the key, and this wallet has nobody to attest it')
  }
  const methods = stringsIn(own(configuration, 'cryptographic_binding_methods_supported'))
  const method = BINDING_METHODS.find((each) => methods.includes(each))
  const theirs = methods.join(', ') || 'nothing'
  return method === undefined
    ? refuse('unsupported', `the issuer binds credentials by ${theirs}, not by ${BINDING_METHODS.join(', ')}`)
    : { algorithm: algorithmNamed(alg), alg, method }
}

/** The header of a proof, as far as it is about the key. OpenID4VCI 1.0, jwt Proof Type. */
export function proofHeader({ alg, method }: ProofKey, jwk: PublicJwk): JsonObject {
  if (method === 'jwk') return { alg, jwk: { ...jwk } }
  return { alg, kid: didUrlOf(method === 'did:jwk' ? toDidJwk(jwk) : toDidKey(jwk)) }
}

function algorithmNamed(alg: string): Algorithm {
  const known = Object.entries(algorithms) as [Algorithm, AlgorithmDetails][]
  return known.find(([, { jose }]) => jose.includes(alg))?.[0] ?? 'ES256'
}
