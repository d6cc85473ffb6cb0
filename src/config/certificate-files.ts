/** Reads `certificateFiles`: the certificates of a key, each signed by the next, in one or several files. */
import { MalformedError } from '../codec/malformed.ts'
import { openSslReason } from '../codec/openssl-reason.ts'
import {
  type Certificate,
  certificateProblem,
  isSignedBy,
  leafProblem,
  readPemCertificates,
  sentCertificates,
} from '../keys/certificate.ts'
import type { CertificatePurpose } from '../keys/certificate-purpose.ts'
import { type Files, UNREADABLE, unreadableReason } from './files.ts'
import { pathForMessages } from './path-for-messages.ts'

/** The purpose of a key, and the setting that it comes from. */
export interface KeyUse {
  /** The path of the setting, for messages. */
  readonly settingPath: string
  readonly purpose: CertificatePurpose
  readonly now: Date
  /** Whether it is an earlier key, whose certificate may have expired. */
  readonly isPrevious?: boolean
}

export interface ReadCertificates {
  /** The certificates of all readable files, the key's own first. */
  readonly chain: readonly Certificate[]
  /** The text of all files. */
  readonly pem: string
  readonly mistakes: readonly string[]
  /** Why the certificate is not suitable for its use. Only reported if the key itself could be read. */
  readonly leafMistakes: readonly string[]
}

/** Reads the files. Returns the certificates, and the mistakes in the files and the chain. */
export function readCertificateFiles(use: KeyUse, paths: readonly string[], files: Files): ReadCertificates {
  const fileResults = paths.map((path, index) =>
    readOrMistake(`${use.settingPath}.certificateFiles[${index}]`, path, () => {
      const text = files.read(path)
      return { text, certificates: readPemCertificates(text) }
    }),
  )
  const fileMistakes = fileResults.flatMap((file) => ('mistake' in file ? [file.mistake] : []))
  const chain = fileResults.flatMap((file) => ('mistake' in file ? [] : file.value.certificates))
  const [leaf] = chain
  const requiredAt = validityTime(use, chain)
  // The key's certificate is in the first file.
  const isLeafRead = leaf !== undefined && fileResults[0] !== undefined && 'value' in fileResults[0]
  const problem = isLeafRead ? leafProblem(leaf, requiredAt, 0, use.purpose) : undefined
  const placedCertificates = fileResults.flatMap((file, index) =>
    'mistake' in file ? [] : file.value.certificates.map((certificate) => ({ certificate, index })),
  )
  // The chain is not checked if a file could not be read.
  const chainProblems =
    use.purpose === 'tls' || fileMistakes.length > 0 ? [] : findChainMistakes(placedCertificates, requiredAt)
  return {
    chain: isLeafRead ? chain : [],
    pem: fileResults.map((file) => ('mistake' in file ? '' : file.value.text)).join('\n'),
    mistakes: [...fileMistakes, ...chainProblems.map((mistake) => `${use.settingPath}.${mistake}`)],
    leafMistakes: problem === undefined ? [] : [`${use.settingPath}.certificateFiles[0]: ${problem}`],
  }
}

/** Returns the result of `read`, or the mistake with the path of its setting. */
export function readOrMistake<T>(settingPath: string, file: string, read: () => T): { value: T } | { mistake: string } {
  try {
    return { value: read() }
  } catch (error) {
    return { mistake: `${settingPath}: ${reasonText(error)}: ${pathForMessages(file)}` }
  }
}

/** Returns the time at which the certificates must be valid: now, or for an earlier key its expiry at the latest. */
function validityTime({ now, isPrevious = false }: KeyUse, chain: readonly Certificate[]): Date {
  const ends = isPrevious ? sentCertificates(chain).map(({ notAfter }) => notAfter.getTime()) : []
  return new Date(Math.min(now.getTime(), ...ends))
}

interface PlacedCertificate {
  readonly certificate: Certificate
  /** The index of its file in the setting. */
  readonly index: number
}

/** Returns a mistake for each certificate that is not signed by the next one. */
function findChainMistakes(placedCertificates: readonly PlacedCertificate[], now: Date): string[] {
  const sentChain = sentCertificates(placedCertificates.map(({ certificate }) => certificate))
  return placedCertificates.slice(1).flatMap(({ certificate, index }, position) => {
    const signedCertificate = placedCertificates[position]?.certificate as Certificate
    const problem =
      issuerProblem(certificate, signedCertificate) ??
      (sentChain.includes(certificate) ? certificateProblem(certificate, now, 0) : undefined)
    return problem === undefined ? [] : [`certificateFiles[${index}]: ${problem}`]
  })
}

function issuerProblem(certificate: Certificate, signedCertificate: Certificate): string | undefined {
  const { subjectText, isCa, keyUsage } = certificate
  if (!isSignedBy(signedCertificate, certificate)) {
    return `the certificate '${subjectText}' did not sign '${signedCertificate.subjectText}' before it; begin with that of the key, then that of its issuer, and so on`
  }
  return isCa && keyUsage?.has('keyCertSign') !== false
    ? undefined
    : `the certificate '${subjectText}' is not a CA and may sign no other`
}

/** Returns why a file cannot be used. */
function reasonText(error: unknown): string {
  if (error instanceof MalformedError) {
    const reason = openSslReason(error.cause)
    return reason === undefined ? error.message : `${error.message} (OpenSSL: ${reason})`
  }
  const why = unreadableReason(error)
  return why === UNREADABLE ? `${why} as PEM` : why
}
