/** Directories of trust anchors: PEM files, every certificate in which is trusted. */
import { MalformedError } from '../codec/malformed.ts'
import type { Certificate } from '../keys/certificate.ts'
import { readTrustAnchors } from '../keys/trust-anchors.ts'
import type { Files } from './files.ts'

export type AnchorSetting = 'issuerTrustAnchors' | 'keyAttestationTrustAnchors'

/** Every certificate in every file of the directory that the setting names; none when there is no such setting. */
export function readAnchorDirectory(
  setting: AnchorSetting,
  directory: string | undefined,
  files: Files,
): { readonly certificates: readonly Certificate[] } | { readonly mistakes: readonly string[] } {
  if (directory === undefined) return { certificates: [] }
  try {
    const names = files.list(directory).filter((name) => /\.(pem|crt|cer)$/i.test(name))
    return { certificates: readTrustAnchors(names.map((name) => ({ name, text: files.read(`${directory}/${name}`) }))) }
  } catch (error) {
    const why =
      error instanceof MalformedError ? error.message : `the directory or a file in it cannot be read: ${directory}`
    return { mistakes: [`${setting}: ${why}`] }
  }
}

/** Those that are over. */
export function anchorWarnings(setting: AnchorSetting, anchors: readonly Certificate[], now: Date): string[] {
  return anchors
    .filter(({ notAfter }) => notAfter < now)
    .map(({ subjectText, notAfter }) => `${setting}: ${subjectText} expired on ${notAfter.toISOString()}`)
}
