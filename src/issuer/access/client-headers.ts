/** Parses the headers of a wallet attestation and of its proof of possession. `client-checks.ts` verifies them. */
import type { KeyObject } from 'node:crypto'
import { memoize } from '../../async/cache.ts'
import { isObject, type JsonObject, memberOf, stringMemberOf } from '../../codec/json.ts'
import { type Jws, readJws } from '../../codec/jws.ts'
import { malformed, type Problem, readOrProblem, readPart } from '../../codec/malformed.ts'
import type { Certificate } from '../../keys/certificate.ts'
import { importPublicKey, readSigningJwk, thumbprint } from '../../keys/jwk.ts'
import { readX5c } from '../../keys/trust-path.ts'
import { headerValueProblem } from './jwt-checks.ts'

/** The key of a wallet instance, from the attestation. */
export interface InstanceKey {
  readonly key: KeyObject
  /** The JWK thumbprint. RFC 7638. */
  readonly thumbprint: string
}

/** An attestation and its proof of possession, parsed and not yet verified. */
export interface ClientEvidence {
  readonly attestation: Jws
  readonly pop: Jws
  readonly subject: string | undefined
  /** The `jti` of the proof. */
  readonly popId: string | undefined
  /** Returns the certificates of the attestation. The first call parses them, and throws a MalformedError. */
  readonly readChain: () => readonly [Certificate, ...Certificate[]]
  /** Returns the key in `cnf`. The first call parses it, and throws a MalformedError. */
  readonly readInstanceKey: () => InstanceKey
}

export type ClientReading = { readonly evidence: ClientEvidence } | Problem

/** Parses both headers. Returns the problem if one of them is malformed. */
export function readClientHeaders(headers: {
  readonly attestation: string | undefined
  readonly pop: string | undefined
}): ClientReading {
  const jwts = readOrProblem(() => ({
    attestation: readPart('OAuth-Client-Attestation', () => readHeader(headers.attestation)),
    pop: readPart('OAuth-Client-Attestation-PoP', () => readHeader(headers.pop)),
  }))
  if ('problem' in jwts) return jwts
  const { attestation, pop } = jwts
  const { header, payload } = attestation
  return {
    evidence: {
      attestation,
      pop,
      subject: stringMemberOf(payload, 'sub'),
      popId: stringMemberOf(pop.payload, 'jti'),
      readChain: memoize(() => readX5c(memberOf(header, 'x5c'))),
      readInstanceKey: memoize(() => parseInstanceKey(payload)),
    },
  }
}

function readHeader(text: string | undefined): Jws {
  if (text === undefined) return malformed('it is missing')
  const problem = headerValueProblem(text)
  return problem === undefined ? readJws(text) : malformed(problem)
}

function parseInstanceKey(payload: JsonObject): InstanceKey {
  const confirmation = memberOf(payload, 'cnf')
  if (!isObject(confirmation)) return malformed('it has no cnf')
  const jwk = readPart('cnf.jwk', () => readSigningJwk(memberOf(confirmation, 'jwk')))
  return { key: readPart('cnf.jwk', () => importPublicKey(jwk)), thumbprint: thumbprint(jwk) }
}
