/** A key and its certificates, as files: read, and held against each other. */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import Type, { type Static } from 'typebox'
import { MalformedError } from '../codec/malformed.ts'
import { type Certificate, leafProblem, readPemCertificates } from '../keys/certificate.ts'
import { readPrivateKey } from '../keys/file-signer.ts'
import type { Files } from './files.ts'

export const KeyAndCertificates = Type.Object(
  {
    keyFile: Type.String({ description: 'PEM file with the private key' }),
    certificateFiles: Type.Array(Type.String(), {
      minItems: 1,
      description: 'PEM files; the certificate of the key first',
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

/** The key and its chain, or everything that is wrong with them. `where` is `signing` or `tls`. */
export function readKeyAndCertificates(
  where: 'signing' | 'tls',
  setting: KeyAndCertificates,
  files: Files,
  now: Date,
): ReadKey | { readonly mistakes: readonly string[] } {
  const mistakes: string[] = []
  const attempt = <T>(path: string, read: () => T): T | undefined => {
    try {
      return read()
    } catch (error) {
      mistakes.push(`${where}.${path}: ${reason(error)}`)
      return undefined
    }
  }
  const keyText = attempt('keyFile', () => files.read(setting.keyFile))
  const key =
    keyText && attempt('keyFile', () => (where === 'signing' ? readPrivateKey(keyText) : createPrivateKey(keyText)))
  const texts = setting.certificateFiles.map((file, index) =>
    attempt(`certificateFiles[${index}]`, () => files.read(file)),
  )
  const chain = texts.flatMap((text, index) =>
    text === undefined ? [] : (attempt(`certificateFiles[${index}]`, () => readPemCertificates(text)) ?? []),
  )
  const [leaf] = chain
  if (key && leaf && texts[0] !== undefined) mistakes.push(...fitMistakes(where, key, leaf, now))
  if (!key || mistakes.length > 0) return { mistakes }
  return { key, chain, keyPem: keyText, certificatePem: texts.join('\n') }
}

function fitMistakes(where: string, key: KeyObject, leaf: Certificate, now: Date): string[] {
  const problem = leafProblem(leaf, now, 0)
  const fits = createPublicKey(key).equals(leaf.publicKey)
  return [
    ...(fits ? [] : [`${where}.keyFile: the key is not the one of the first certificate (${leaf.subjectText})`]),
    ...(problem === undefined ? [] : [`${where}.certificateFiles[0]: ${problem}`]),
  ]
}

/** Why a file cannot be used, for the person who wrote its name. */
function reason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EACCES') return 'the file may not be read by this user'
  if (code === 'EISDIR') return 'this is a directory, and it should be a file'
  return error instanceof MalformedError ? message : 'the file cannot be read as PEM'
}
