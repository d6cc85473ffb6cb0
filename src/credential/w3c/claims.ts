/**
 * Finds claims in a query that a W3C credential cannot have. VCDM 2.0, Verifiable Credentials; VC-JOSE-COSE, Securing
 * with JOSE.
 */
import { type JsonObject, own } from '../../codec/json.ts'
import { readableClaims } from '../../protocol/dcql.ts'
import type { Mistakes } from '../../protocol/dcql-parts.ts'

/** The JWT claims, each with the member of the credential that has the same meaning. */
const JWT_CLAIMS = new Map([
  ['iss', 'ask for issuer'],
  ['sub', 'ask for id in credentialSubject'],
  ['jti', 'ask for id'],
  ['iat', 'ask for validFrom'],
  ['nbf', 'ask for validFrom'],
  ['exp', 'ask for validUntil'],
  ['status', 'it is looked at anyway'],
  ['cnf', 'the binding to its holder is verified anyway'],
  ['vc', 'paths begin inside vc, so leave it out'],
])
const TEXTS: readonly unknown[] = ['id', 'validFrom', 'validUntil', 'issuanceDate', 'expirationDate']

/** Returns mistakes in the claims of a query, as sentences that begin with the path. */
export function* findW3cClaimMistakes(query: JsonObject, at: string): Mistakes {
  for (const [i, claim] of readableClaims(own(query, 'claims')).entries()) {
    if (claim === undefined) continue
    const [path, values] = [`${at}.claims[${i}].path`, `${at}.claims[${i}].values`]
    const [member] = claim.path
    const instead = typeof member === 'string' ? JWT_CLAIMS.get(member) : undefined
    if (instead !== undefined) yield `${path}[0]: is not a member of a W3C credential; ${instead}`
    if (!Array.isArray(claim.values) || claim.path.length > 1) continue
    if (member === 'credentialSubject') yield `${values}: credentialSubject is an object; ask for a claim inside it`
    if (TEXTS.includes(member) && claim.values.every((value) => typeof value !== 'string'))
      yield `${values}: ${String(member)} is a text, and none of these is one`
  }
}
