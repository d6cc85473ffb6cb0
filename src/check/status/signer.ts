/**
 * Checks who signed a status list: the issuer of the credential, or a provider under the same trust anchor. Token
 * Status List, Validation Rules and Extended Key Usage Extension.
 */
import { orProblem, type Problem, within } from '../../codec/malformed.ts'
import type { Evidence } from '../../credential/format.ts'
import { type Certificate, leafProblem } from '../../keys/certificate.ts'
import { beginsWithTlsServer, EXTENDED_KEY_USAGE, tlsProblem } from '../../keys/certificate-purpose.ts'
import { identifierProblem } from '../../keys/identifier.ts'
import { anchorAsSigner, findTrustPath, type TrustPath } from '../../keys/trust-anchors.ts'
import { MAX_CHAIN } from '../../keys/x5c.ts'
import type { StatusPolicy } from './lists.ts'
import type { FetchedStatusList } from './status-list.ts'

/** The context of status checks: how lists are loaded, and whom the operator trusts. */
export interface StatusCheckContext {
  readonly now: Date
  readonly clockSkewSeconds: number
  readonly trustAnchors: readonly Certificate[] | undefined
  readonly parseCertificate: (der: Uint8Array) => Certificate
  /** Whether TLS server certificates may sign status lists. */
  readonly acceptTlsServerCertificates: boolean
  /** Finds the path from the issuer of a credential to a trust anchor. */
  readonly findIssuerPath: (issuer: Evidence['issuer']) => TrustPath
  readonly status: StatusPolicy
}

/**
 * Returns the certificates of the list, with that of its key first. A list without certificates must be signed by the
 * credential's own issuer key, so this returns the certificates of the credential.
 */
export function readSignerChain(
  { chain }: FetchedStatusList,
  evidence: Evidence['issuer'],
  { parseCertificate }: StatusCheckContext,
): readonly Certificate[] | Problem {
  if (chain.length === 0) return evidence.chain.map((der) => parseCertificate(der))
  if (chain.length > MAX_CHAIN) return { problem: `it comes with more than ${MAX_CHAIN} certificates` }
  return orProblem(() => within('a certificate of it cannot be read', () => chain.map((der) => parseCertificate(der))))
}

/**
 * Returns why the signer of the list is not authorized for the issuer of the credential; undefined if it is.
 * `signerChain` is the result of {@link readSignerChain}.
 */
export function signerProblem(
  list: FetchedStatusList,
  signerChain: readonly Certificate[],
  evidence: Evidence['issuer'],
  context: StatusCheckContext,
): string | undefined {
  const [issuer] = evidence.chain.map((der) => context.parseCertificate(der))
  const [leaf] = signerChain
  if (issuer === undefined || leaf === undefined) return 'there is no certificate of its key'
  if (!list.isSignedBy(leaf.publicKey)) return `its signature is not by the key of ${leaf.subjectText}`
  const leafAsSigner = anchorAsSigner(leaf, context.trustAnchors ?? [])
  const problem = leafProblem(leafAsSigner, context.now, context.clockSkewSeconds, 'status')
  if (problem !== undefined) return problem
  if (isSameKey(leaf, issuer)) return undefined
  const trustPath = findSignerPath(signerChain, context)
  if ('problem' in trustPath) return trustPath.problem
  if (!context.acceptTlsServerCertificates && beginsWithTlsServer(trustPath.path)) return tlsProblem(leaf)
  if (isSameIssuer(leaf, issuer, evidence.identifiers)) return undefined
  if (isProvider(leaf, trustPath.path, context.findIssuerPath(evidence))) return undefined
  return `it is signed by ${leaf.subjectText}, who is not the issuer of what has this status`
}

function findSignerPath(
  certificates: readonly Certificate[],
  { trustAnchors = [], now, clockSkewSeconds }: StatusCheckContext,
) {
  return findTrustPath(certificates, trustAnchors, { now, clockSkewSeconds })
}

/**
 * Tests whether two certificates have the same key. Does not use KeyObject.equals: for keys of different types it
 * leaves an error in OpenSSL's queue, which a later operation reports.
 */
function isSameKey(one: Certificate, other: Certificate): boolean {
  const spki = ({ publicKey }: Certificate): Buffer => publicKey.export({ type: 'spki', format: 'der' })
  return spki(one).equals(spki(other))
}

/**
 * Tests whether `leaf` is another certificate of `issuer` with a different key: with the same subject and the same CA,
 * or with the issuer identifier of the credential as a name.
 */
function isSameIssuer(leaf: Certificate, issuer: Certificate, identifiers: readonly string[]): boolean {
  if (leaf.subject.equals(issuer.subject) && leaf.issuer.equals(issuer.issuer)) return true
  const [identifier] = identifiers
  return identifier !== undefined && identifierProblem(leaf, identifier) === undefined
}

/** Tests whether the certificate is for signing status lists, and has the same trust anchor as the issuer. */
function isProvider(
  { extendedKeyUsage }: Certificate,
  path: readonly Certificate[],
  issuerPath: ReturnType<typeof findTrustPath>,
): boolean {
  if (extendedKeyUsage?.includes(EXTENDED_KEY_USAGE.statusSigning) !== true || !('path' in issuerPath)) return false
  return path.at(-1)?.fingerprint === issuerPath.path.at(-1)?.fingerprint
}
