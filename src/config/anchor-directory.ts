/** Reads directories of trust anchors: PEM files with trusted certificates. */
import { readOrProblem } from '../codec/malformed.ts'
import { type Certificate, certificateProblem } from '../keys/certificate.ts'
import { readTrustAnchors, type TrustAnchor } from '../keys/trust-path.ts'
import { readOrMistake } from './certificate-files.ts'
import type { Files } from './files.ts'

/** The settings for directories of trust anchors, each with what happens without it, for messages. */
const WITHOUT = {
  issuerTrustAnchors: 'credentials of any issuer are taken',
  keyAttestationTrustAnchors: 'no credential configuration can require key attestations',
  walletProviderTrustAnchors: 'wallets are not authenticated',
} as const

export type AnchorSetting = keyof typeof WITHOUT

export const ANCHOR_SETTINGS = Object.keys(WITHOUT) as readonly AnchorSetting[]

/** The trust anchors of a directory, and warnings about them. */
interface AnchorDirectory {
  readonly certificates: readonly TrustAnchor[]
  readonly warnings: readonly string[]
}

/** A setting that names a directory: its path, and what happens without it, if it can be absent, for messages. */
interface DirectorySetting {
  readonly settingPath: string
  readonly without?: string
}

/**
 * Reads all certificates of the directory that one of {@link ANCHOR_SETTINGS} names; none if `directory` is undefined.
 * Mistakes are those of {@link readCertificateDirectory}.
 */
export function readAnchorDirectory(
  setting: AnchorSetting,
  directory: string | undefined,
  files: Pick<Files, 'read' | 'list'>,
  now: Date,
): AnchorDirectory | { readonly mistakes: readonly string[] } {
  if (directory === undefined) return { certificates: [], warnings: [] }
  return readCertificateDirectory({ settingPath: setting, without: WITHOUT[setting] }, directory, files, now)
}

/** Reads all certificates of a directory. A directory without a currently valid certificate is a mistake. */
export function readCertificateDirectory(
  setting: DirectorySetting,
  directory: string,
  files: Pick<Files, 'read' | 'list'>,
  now: Date,
): AnchorDirectory | { readonly mistakes: readonly string[] } {
  const { settingPath } = setting
  const names = listAnchorFiles(directory, files)
  if ('problem' in names) return { mistakes: [`${settingPath}: ${names.problem}: ${directory}`] }
  const anchorsOfFiles = names.map((name) => {
    const text = readOrMistake(settingPath, `${directory}/${name}`, () => files.read(`${directory}/${name}`))
    if ('mistake' in text) return text
    const anchors = readOrProblem(() => readTrustAnchors([{ name, text: text.value }]))
    return 'problem' in anchors ? { mistake: `${settingPath}: ${anchors.problem}` } : anchors
  })
  const mistakes = anchorsOfFiles.flatMap((each) => ('mistake' in each ? [each.mistake] : []))
  if (mistakes.length > 0) return { mistakes }
  const certificates = anchorsOfFiles.flatMap((each) => ('mistake' in each ? [] : each))
  const problem = directoryProblem(setting, directory, certificates, now)
  if (problem !== undefined) return { mistakes: [`${settingPath}: ${problem}`] }
  return { certificates, warnings: findWarnings(settingPath, certificates, now) }
}

/** Returns the names of the files with certificates in a directory, or why it cannot be read. */
function listAnchorFiles(
  directory: string,
  files: Pick<Files, 'list'>,
): readonly string[] | { readonly problem: string } {
  try {
    return files.list(directory).filter((name) => /\.(pem|crt|cer)$/i.test(name))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return { problem: `the directory cannot be read${code === undefined ? '' : ` (${code})`}` }
  }
}

function directoryProblem(
  { without }: DirectorySetting,
  directory: string,
  certificates: readonly Certificate[],
  now: Date,
): string | undefined {
  const problems = certificates.map((certificate) => certificateProblem(certificate, now, 0))
  if (problems.includes(undefined)) return undefined
  const [problem] = problems
  return problem === undefined
    ? `there is no certificate in ${directory} (files that end in .pem, .crt or .cer); put those that you trust there${without === undefined ? '' : `; without the setting ${without}`}`
    : `none of the certificates in ${directory} can be used: ${problem}; put those of today there`
}

/** Returns a warning for each expired trust anchor. */
function findWarnings(settingPath: string, anchors: readonly Certificate[], now: Date): string[] {
  return anchors
    .filter(({ notAfter }) => notAfter < now)
    .map(({ subjectText, notAfter }) => `${settingPath}: ${subjectText} expired on ${notAfter.toISOString()}`)
}
