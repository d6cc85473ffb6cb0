/** Finds the path from the issuer of a credential to a trust anchor, once for all checks. RFC 5280 section 6. */
import { orProblem, type Problem, within } from '../codec/malformed.ts'
import type { IssuerEvidence } from '../credential/format.ts'
import type { Certificate } from '../keys/certificate.ts'
import { createSignatureChecks, findTrustPath, type TrustPath } from '../keys/trust-anchors.ts'

type AcceptPath = (path: readonly Certificate[]) => boolean

/** Finds a path for an issuer. With `accepts`, returns a path for which it returns true. */
export type FindIssuerPath = (issuer: IssuerEvidence, accepts?: AcceptPath) => TrustPath

type ParseCertificate = (der: Uint8Array) => Certificate

/** Creates the function that finds and caches paths, for the anchors and the time of `context`. */
export function createIssuerPathFinder(context: {
  readonly trustAnchors: readonly Certificate[] | undefined
  readonly parseCertificate: ParseCertificate
  readonly now: Date
  readonly clockSkewSeconds: number
}): FindIssuerPath {
  const { trustAnchors = [], parseCertificate, now, clockSkewSeconds } = context
  const options = { now, clockSkewSeconds, checks: createSignatureChecks() }
  const paths = new WeakMap<IssuerEvidence, TrustPath>()
  const search = ({ chain }: IssuerEvidence, accepts: AcceptPath = () => true): TrustPath => {
    const sentChain = parseSentChain(chain, parseCertificate)
    return 'problem' in sentChain
      ? sentChain
      : findTrustPath(sentChain.certificates, trustAnchors, { ...options, accepts })
  }
  return (issuer, accepts) => {
    const firstPath = paths.get(issuer) ?? search(issuer)
    paths.set(issuer, firstPath)
    if (accepts === undefined || 'problem' in firstPath || accepts(firstPath.path)) return firstPath
    return search(issuer, accepts)
  }
}

/**
 * Parses all certificates of a chain. Returns a problem if one after the first cannot be parsed; the first could be
 * parsed before.
 */
export function parseSentChain(
  chain: readonly Uint8Array[],
  parse: ParseCertificate,
): { readonly certificates: readonly Certificate[] } | Problem {
  return orProblem(() =>
    within('a certificate behind that of the issuer cannot be read', () => ({
      certificates: chain.map((der) => parse(der)),
    })),
  )
}
