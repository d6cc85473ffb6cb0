/**
 * Reads private keys and their certificates from files, and checks that they match; or reads the settings of a key in a
 * PKCS #11 token.
 */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { type Certificate, isSamePublicKey } from '../keys/certificate.ts'
import { readPrivateKey } from '../keys/file-signer.ts'
import { MAX_KEYS, type SigningKey } from '../keys/key-ring.ts'
import { algorithmOf, EC_CURVES, isEcdsa } from '../keys/signature.ts'
import { type KeyUse, readCertificateFiles, readOrMistake } from './certificate-files.ts'
import type { Files } from './files.ts'
import { mistakesOf } from './mistakes.ts'
import { Pkcs11Setting, readPkcs11Setting } from './pkcs11-setting.ts'

const certificateFiles = Type.Array(Type.String(), {
  minItems: 1,
  description: 'PEM files; the certificate of the key first, then those of its issuers; a self-signed CA is never sent',
})

/** The setting of a key in a file. */
export const KeyAndCertificates = Type.Object(
  { keyFile: Type.String({ description: 'PEM file with the private key' }), certificateFiles },
  { additionalProperties: false },
)
export type KeyAndCertificates = Static<typeof KeyAndCertificates>

const signingMembers = {
  keyFile: Type.Optional(Type.String({ description: 'PEM file with the private key; required without pkcs11' })),
  pkcs11: Type.Optional(Pkcs11Setting),
  certificateFiles,
}
/** JSON Schema 2020-12, `if`: a key is in a token or in a file. */
const signingOptions = {
  additionalProperties: false,
  if: { required: ['pkcs11'] },
  else: { required: ['keyFile'] },
}

/** The setting of a signing key, in a file or in a token. */
export const SigningSetting = Type.Object(signingMembers, signingOptions)
export type SigningSetting = Static<typeof SigningSetting>

/** The setting of a signing key and its earlier keys. */
export const SigningSettings = Type.Object(
  {
    ...signingMembers,
    previous: Type.Optional(
      Type.Array(SigningSetting, {
        maxItems: MAX_KEYS - 1,
        description:
          'Keys that were in the place of this one, the newest first; what was begun with one goes on with it',
      }),
    ),
  },
  signingOptions,
)
export type SigningSettings = Static<typeof SigningSettings>

/** A key from a file, and its certificates, its own first. */
export interface ReadKey {
  readonly key: KeyObject
  readonly chain: readonly [Certificate, ...Certificate[]]
  readonly keyPem: string
  readonly certificatePem: string
}

/** Reads a key and its certificates from files, or returns all mistakes. */
export function readKeyAndCertificates(
  use: KeyUse,
  { keyFile, certificateFiles }: KeyAndCertificates,
  files: Files,
): ReadKey | { readonly mistakes: readonly string[] } {
  const keyPem = readOrMistake(`${use.settingPath}.keyFile`, keyFile, () => files.read(keyFile))
  const key =
    'mistake' in keyPem
      ? keyPem
      : readOrMistake(`${use.settingPath}.keyFile`, keyFile, () =>
          use.purpose === 'tls' ? createPrivateKey(keyPem.value) : readPrivateKey(keyPem.value),
        )
  const { chain, pem, mistakes, leafMistakes } = readCertificateFiles(use, certificateFiles, files)
  const [leaf, ...issuers] = chain
  const isMismatch =
    'value' in key && leaf !== undefined && !isSamePublicKey(createPublicKey(key.value), leaf.publicKey)
  const mismatchMistake = `${use.settingPath}.keyFile: the key is not the one of the first certificate (${leaf?.subjectText})`
  const keyMistakes = 'mistake' in key ? [key.mistake] : [...(isMismatch ? [mismatchMistake] : []), ...leafMistakes]
  const allMistakes = [...keyMistakes, ...mistakes]
  if ('mistake' in key || 'mistake' in keyPem || leaf === undefined || allMistakes.length > 0)
    return { mistakes: allMistakes }
  return { key: key.value, chain: [leaf, ...issuers], keyPem: keyPem.value, certificatePem: pem }
}

/** Reads a signing key, in a file or in a token, and its certificates, or returns all mistakes. */
export function readSigningKey(
  use: KeyUse,
  { keyFile, pkcs11, certificateFiles: paths }: SigningSetting,
  files: Files,
): SigningKey | { readonly mistakes: readonly string[] } {
  if (keyFile !== undefined && pkcs11 !== undefined) {
    return { mistakes: [`${use.settingPath}: the key is either in keyFile or in a token (pkcs11); take one out`] }
  }
  if (keyFile !== undefined) {
    const result = readKeyAndCertificates(use, { keyFile, certificateFiles: paths }, files)
    return 'mistakes' in result ? result : { key: result.key, chain: result.chain }
  }
  // The schema refuses a setting without both.
  if (pkcs11 === undefined) return { mistakes: [`${use.settingPath}.keyFile: required`] }
  const token = readPkcs11Setting(`${use.settingPath}.pkcs11`, pkcs11, files)
  const { chain, mistakes, leafMistakes } = readCertificateFiles(use, paths, files)
  const [leaf, ...issuers] = chain
  const isUnsupported = leaf !== undefined && !isEcdsa(algorithmOf(leaf.publicKey))
  const allMistakes = [
    ...mistakesOf(token),
    ...(isUnsupported ? [`${use.settingPath}.certificateFiles[0]: a key in a token is EC on ${EC_CURVES}`] : []),
    ...leafMistakes,
    ...mistakes,
  ]
  if ('mistakes' in token || leaf === undefined || allMistakes.length > 0) return { mistakes: allMistakes }
  return { pkcs11Key: token.pkcs11Key, chain: [leaf, ...issuers] }
}
