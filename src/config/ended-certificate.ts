/** The end of the certificates of a running service: what was signed after it is refused by wallets and verifiers. */
import { sentCertificates } from '../keys/certificate.ts'
import type { ServiceKeys } from '../keys/key-ring.ts'
import { refuse } from '../protocol/error.ts'
import { describeValidity, endsSoon } from './certificate-warnings.ts'

/** Returns why nothing can be signed: the certificate of a key that signs now has ended. Earlier keys do not count. */
export function findEndedCertificate({ signing, statusLists }: ServiceKeys, now: Date): string | undefined {
  for (const [path, keys] of [
    ['signing', signing],
    ['keys.statusLists', statusLists],
  ] as const) {
    const leaf = keys?.chain[0]
    if (leaf !== undefined && leaf.notAfter < now) {
      return `${path}: ${describeValidity(leaf, now)}, put the new one in its place, and send SIGHUP`
    }
  }
  return undefined
}

/** Refuses with `temporarily_unavailable` if the certificate of a key that signs now has ended. The log has which. */
export function refuseEndedCertificate(keys: ServiceKeys, now: Date): void {
  const problem = findEndedCertificate(keys, now)
  if (problem === undefined) return
  const description = 'the certificate of this service has ended; try again when its operator has renewed it'
  refuse('temporarily_unavailable', description, { cause: new Error(problem) })
}

/** Returns a warning for each sent certificate that ends soon, except those of earlier keys and the audit key. */
export function findEndingWarnings(
  { signing, statusLists, accessTokens, metadata }: ServiceKeys,
  now: Date,
): readonly string[] {
  return Object.entries({
    signing,
    'keys.statusLists': statusLists,
    'keys.accessTokens': accessTokens,
    'keys.metadata': metadata,
  }).flatMap(([path, key]) =>
    sentCertificates(key?.chain ?? [])
      .filter((certificate) => endsSoon(certificate, now))
      .map((certificate) => `${path}: ${describeValidity(certificate, now)}`),
  )
}
