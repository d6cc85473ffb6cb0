/** Warnings about certificates that expire soon, or that some wallets do not accept. */
import { type Certificate, isSelfSigned, sentCertificates } from '../keys/certificate.ts'

const DAY_MS = 86_400_000
const SOON_DAYS = 30
const SELF_SIGNED_ADVICE = {
  signing: 'is self-signed: right for trying out, and refused by wallets of the HAIP profile; get one from a CA',
  tls: 'is self-signed; phones and most wallets refuse it',
}

/** Returns warnings that begin with `settingPath`. Certificates that are not sent cause none. */
export function findCertificateWarnings(settingPath: string, chain: readonly Certificate[], now: Date): string[] {
  const [leaf] = chain
  if (leaf === undefined) return []
  const ending = sentCertificates(chain).filter((certificate) => endsSoon(certificate, now))
  return [
    ...(isSelfSigned(leaf)
      ? [
          `${settingPath}: the certificate ${leaf.subjectText} ${SELF_SIGNED_ADVICE[settingPath === 'tls' ? 'tls' : 'signing']}`,
        ]
      : []),
    ...ending.map((certificate) => `${settingPath}: ${describeValidity(certificate, now)}`),
  ]
}

/** Returns a warning if the certificate of an earlier key expires soon, or has expired, which makes the key useless. */
export function findPreviousWarnings(settingPath: string, [leaf]: readonly Certificate[], now: Date): string[] {
  if (leaf === undefined || !endsSoon(leaf, now)) return []
  if (leaf.notAfter >= now) {
    return [`${settingPath}: ${describeValidity(leaf, now)}, or take it out when nothing needs its key any more`]
  }
  const text = `the certificate ${leaf.subjectText} ended on ${dayOf(leaf.notAfter)}`
  return [`${settingPath}: ${text}: the newest key signs in its place; take this one out`]
}

/** Tests whether the certificate expires soon. */
export function endsSoon({ notAfter }: Certificate, now: Date): boolean {
  return notAfter.getTime() - now.getTime() < SOON_DAYS * DAY_MS
}

/** Describes until when the certificate is valid, and whether to renew it. */
export function describeValidity(certificate: Certificate, now: Date): string {
  const { subjectText, notAfter } = certificate
  if (notAfter < now) return `the certificate ${subjectText} ended on ${dayOf(notAfter)}: renew it`
  const days = Math.floor((notAfter.getTime() - now.getTime()) / DAY_MS)
  const text = `${subjectText} is valid until ${dayOf(notAfter)}, ${days} days from now`
  return endsSoon(certificate, now) ? `${text}: renew it soon` : text
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10)
}
