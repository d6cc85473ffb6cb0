/** A key and its certificates, as files: read, and held against each other. */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { MalformedError } from '../codec/malformed.ts'
import {
  type Certificate,
  certificateProblem,
  isSignedBy,
  leafProblem,
  readPemCertificates,
  sentCertificates,
} from '../keys/certificate.ts'
import type { CertificatePurpose } from '../keys/certificate-purpose.ts'
import { readPrivateKey } from '../keys/file-signer.ts'
import type { Files } from './files.ts'

export const KeyAndCertificates = Type.Object(
  {
    keyFile: Type.String({ description: 'PEM file with the private key' }),
    certificateFiles: Type.Array(Type.String(), {
      minItems: 1,
      description:
        'PEM files; the certificate of the key first, then those of its issuers; a self-signed CA is never sent',
    }),
  },
  { additionalProperties: false },
)
type KeyAndCertificates = Static<typeof KeyAndCertificates>

export interface ReadKey {
  readonly key: KeyObject
  readonly chain: readonly Certificate[]
  readonly keyPem: string
  readonly certificatePem: string
}

/** The key and its chain, or everything that is wrong with them, for what `purpose` asks of them: `tls`, or of `signing`. */
export function readKeyAndCertificates(
  purpose: CertificatePurpose,
  setting: KeyAndCertificates,
  files: Files,
  now: Date,
): ReadKey | { readonly mistakes: readonly string[] } {
  const where = purpose === 'tls' ? 'tls' : 'signing'
  const mistakes: string[] = []
  const attempt = <T>(path: string, file: string, read: () => T): T | undefined => {
    try {
      return read()
    } catch (error) {
      mistakes.push(`${where}.${path}: ${reason(error)}: ${file}`)
      return undefined
    }
  }
  const { keyFile, certificateFiles } = setting
  const keyText = attempt('keyFile', keyFile, () => files.read(keyFile))
  const key =
    keyText === undefined
      ? undefined
      : attempt('keyFile', keyFile, () => (where === 'signing' ? readPrivateKey(keyText) : createPrivateKey(keyText)))
  const texts = certificateFiles.map((file, index) =>
    attempt(`certificateFiles[${index}]`, file, () => files.read(file)),
  )
  const chains = texts.map((text, index) =>
    text === undefined
      ? undefined
      : attempt(`certificateFiles[${index}]`, certificateFiles[index] ?? '', () => readPemCertificates(text)),
  )
  const [leaf] = chains[0] ?? []
  const fits = key && leaf ? fitMistakes(key, leaf, now, purpose) : []
  const chained = purpose === 'tls' ? [] : chainMistakes(chains, now)
  mistakes.push(...[...fits, ...chained].map((mistake) => `${where}.${mistake}`))
  if (keyText === undefined || key === undefined || mistakes.length > 0) return { mistakes }
  return { key, chain: chains.flatMap((chain) => chain ?? []), keyPem: keyText, certificatePem: texts.join('\n') }
}

function fitMistakes(key: KeyObject, leaf: Certificate, now: Date, purpose: CertificatePurpose): string[] {
  const problem = leafProblem(leaf, now, 0, purpose)
  // Not KeyObject.equals: on keys of two types it leaves an error behind, which the next key that is read is blamed for.
  const spki = (each: KeyObject): Buffer => each.export({ type: 'spki', format: 'der' })
  const fits = spki(createPublicKey(key)).equals(spki(leaf.publicKey))
  return [
    ...(fits ? [] : [`keyFile: the key is not the one of the first certificate (${leaf.subjectText})`]),
    ...(problem === undefined ? [] : [`certificateFiles[0]: ${problem}`]),
  ]
}

/**
 * Each certificate is to be signed by the next, in one file or several: who receives them looks no further. Nothing is said
 * while a file of them is missing.
 */
function chainMistakes(files: readonly (readonly Certificate[] | undefined)[], now: Date): string[] {
  if (files.includes(undefined)) return []
  const placed = files.flatMap((chain = [], index) =>
    chain.map((certificate) => ({ certificate, path: `certificateFiles[${index}]` })),
  )
  const sent = sentCertificates(placed.map(({ certificate }) => certificate))
  return placed.slice(1).flatMap(({ certificate, path }, index) => {
    const below = placed[index]?.certificate as Certificate
    const problem =
      issuerProblem(certificate, below) ??
      (sent.includes(certificate) ? certificateProblem(certificate, now, 0) : undefined)
    return problem === undefined ? [] : [`${path}: ${problem}`]
  })
}

function issuerProblem(certificate: Certificate, below: Certificate): string | undefined {
  const { subjectText, isCa, keyUsage } = certificate
  if (!isSignedBy(below, certificate)) {
    return `the certificate '${subjectText}' did not sign '${below.subjectText}' before it; begin with that of the key, then that of its issuer, and so on`
  }
  return isCa && keyUsage?.has('keyCertSign') !== false
    ? undefined
    : `the certificate '${subjectText}' is no CA and may sign no other`
}

/** Why a file cannot be used, for the person who wrote its name. */
function reason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EACCES') return 'the file may not be read by this user'
  if (code === 'EISDIR') return 'this is a directory, and it should be a file'
  return error instanceof MalformedError ? message : 'the file cannot be read as PEM'
}
