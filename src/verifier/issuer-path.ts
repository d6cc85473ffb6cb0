/**
 * Parses the certificates of a credential, and finds the path from its issuer to a trust anchor, each once for all
 * checks. RFC 5280 section 6.
 */
import { type Problem, readOrProblem, readPart } from '../codec/malformed.ts'
import type { Certificate } from '../keys/certificate.ts'
import { createSearchBudget, findTrustPath, MAX_CHAIN, type SearchBudget, type TrustPath } from '../keys/trust-path.ts'

/** The certificates that came with a credential. They are not trusted yet. */
export interface IssuerChain {
  /** The certificate of the issuer, or why there is none. */
  readonly leaf: Certificate | Problem
  /** All certificates with the issuer's own first, or why one of them cannot be used. */
  readonly certificates: readonly Certificate[] | Problem
}

type AcceptPath = (path: readonly Certificate[]) => boolean

/** Finds a path for an issuer. With `accepts`, returns a path for which it returns true. */
export type FindIssuerPath = (issuerChain: IssuerChain, accepts?: AcceptPath) => TrustPath

/** Makes the chain of a credential from its certificates (DER). Each part is parsed when a check first asks for it. */
export function parseIssuerChain(chain: readonly Uint8Array[], parse: (der: Uint8Array) => Certificate): IssuerChain {
  let leaf: IssuerChain['leaf'] | undefined
  let certificates: IssuerChain['certificates'] | undefined
  return {
    get leaf() {
      leaf ??= parseLeaf(chain, parse)
      return leaf
    },
    get certificates() {
      certificates ??= parseOthers(this.leaf, chain.slice(1), parse)
      return certificates
    },
  }
}

/** Parses the certificates behind that of the issuer, and returns all. */
function parseOthers(
  leaf: Certificate | Problem,
  others: readonly Uint8Array[],
  parse: (der: Uint8Array) => Certificate,
): IssuerChain['certificates'] {
  if ('problem' in leaf) return leaf
  return readOrProblem(() =>
    readPart('a certificate behind that of the issuer cannot be read', () => [
      leaf,
      ...others.map((der) => parse(der)),
    ]),
  )
}

function parseLeaf(chain: readonly Uint8Array[], parse: (der: Uint8Array) => Certificate): Certificate | Problem {
  const [leaf] = chain
  if (leaf === undefined) return { problem: 'the credential comes with no certificate (x5c or x5chain)' }
  if (chain.length > MAX_CHAIN) return { problem: `the credential comes with more than ${MAX_CHAIN} certificates` }
  return readOrProblem(() => readPart('the issuer certificate cannot be read', () => parse(leaf)))
}

/**
 * Creates the function that finds and caches paths, for the anchors and the time of `context`. All presentations of a
 * response share one `budget`.
 */
export function createIssuerPathFinder(
  context: {
    readonly trustAnchors: readonly Certificate[] | undefined
    readonly now: Date
    readonly clockSkewSeconds: number
  },
  budget: SearchBudget = createSearchBudget(),
): FindIssuerPath {
  const { trustAnchors = [], now, clockSkewSeconds } = context
  const options = { now, clockSkewSeconds, budget }
  const paths = new WeakMap<IssuerChain, TrustPath>()
  const search = ({ certificates }: IssuerChain, accepts: AcceptPath = () => true): TrustPath =>
    'problem' in certificates ? certificates : findTrustPath(certificates, trustAnchors, { ...options, accepts })
  return (issuerChain, accepts) => {
    const firstPath = paths.get(issuerChain) ?? search(issuerChain)
    paths.set(issuerChain, firstPath)
    if (accepts === undefined || 'problem' in firstPath || accepts(firstPath.path)) return firstPath
    return search(issuerChain, accepts)
  }
}
