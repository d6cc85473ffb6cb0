/** Reads a private key and its certificates from files, and checks that they belong together. */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import type { Static } from 'typebox'
import * as Type from 'typebox'
import type { Certificate } from '../keys/certificate.ts'
import { readPrivateKey } from '../keys/file-signer.ts'
import { attempt, type KeyUse, readCertificateFiles } from './certificate-files.ts'
import type { Files } from './files.ts'

const members = {
  keyFile: Type.String({ description: 'PEM file with the private key' }),
  certificateFiles: Type.Array(Type.String(), {
    minItems: 1,
    description:
      'PEM files; the certificate of the key first, then those of its issuers; a self-signed CA is never sent',
  }),
}
export const KeyAndCertificates = Type.Object(members, { additionalProperties: false })
export type KeyAndCertificates = Static<typeof KeyAndCertificates>

/** A key that signs, and those before it. */
export const KeysAndCertificates = Type.Object(
  {
    ...members,
    previous: Type.Optional(
      Type.Array(KeyAndCertificates, {
        maxItems: 10,
        description:
          'Keys that were in the place of this one, the newest first; what was begun with one goes on with it',
      }),
    ),
  },
  { additionalProperties: false },
)
export type KeysAndCertificates = Static<typeof KeysAndCertificates>

export interface ReadKey {
  readonly key: KeyObject
  readonly chain: readonly Certificate[]
  readonly keyPem: string
  readonly certificatePem: string
}

/** Reads the key and its chain, or everything that is wrong with them for their use. */
export function readKeyAndCertificates(
  use: KeyUse,
  { keyFile, certificateFiles }: KeyAndCertificates,
  files: Files,
): ReadKey | { readonly mistakes: readonly string[] } {
  const keyPem = attempt(`${use.where}.keyFile`, keyFile, () => files.read(keyFile))
  const key =
    'mistake' in keyPem
      ? keyPem
      : attempt(`${use.where}.keyFile`, keyFile, () =>
          use.purpose === 'tls' ? createPrivateKey(keyPem.value) : readPrivateKey(keyPem.value),
        )
  const { chain, pem, mistakes, leafMistakes } = readCertificateFiles(use, certificateFiles, files)
  const [leaf] = chain
  const isOther = 'value' in key && leaf !== undefined && !isKeyOf(key.value, leaf)
  const other = `${use.where}.keyFile: the key is not the one of the first certificate (${leaf?.subjectText})`
  const keyMistakes = 'mistake' in key ? [key.mistake] : [...(isOther ? [other] : []), ...leafMistakes]
  const all = [...keyMistakes, ...mistakes]
  if ('mistake' in key || 'mistake' in keyPem || all.length > 0) return { mistakes: all }
  return { key: key.value, chain, keyPem: keyPem.value, certificatePem: pem }
}

function isKeyOf(key: KeyObject, { publicKey }: Certificate): boolean {
  // KeyObject.equals, on keys of two types, leaves an error behind, which the next key that is read is blamed for.
  const spki = (each: KeyObject): Buffer => each.export({ type: 'spki', format: 'der' })
  return spki(createPublicKey(key)).equals(spki(publicKey))
}
