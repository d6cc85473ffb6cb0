/** The setting `pkcs11`: a private key in a PKCS #11 token. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import type { Pkcs11Key } from '../keys/pkcs11/signer.ts'
import { readOrMistake } from './certificate-files.ts'
import type { Files } from './files.ts'

export const Pkcs11Setting = Type.Object(
  {
    module: Type.String({ minLength: 1, description: 'The PKCS #11 library of the token, as an absolute path' }),
    tokenLabel: Type.Optional(Type.String({ minLength: 1, description: 'Label of the token; this or slot' })),
    slot: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Id of the slot that the token is in; this or tokenLabel' }),
    ),
    keyLabel: Type.String({ minLength: 1, description: 'Label of the private key (CKA_LABEL)' }),
    pinFile: Type.String({ description: 'File with the PIN of the user, on one line' }),
  },
  { additionalProperties: false },
)
export type Pkcs11Setting = Static<typeof Pkcs11Setting>

/**
 * Reads the PIN, or returns the mistakes in the setting at `settingPath`. Does not check whether the token has the key.
 */
export function readPkcs11Setting(
  settingPath: string,
  { module, tokenLabel, slot, keyLabel, pinFile }: Pkcs11Setting,
  files: Pick<Files, 'read'>,
): { readonly pkcs11Key: Pkcs11Key } | { readonly mistakes: readonly string[] } {
  const pin = readOrMistake(`${settingPath}.pinFile`, pinFile, () => files.read(pinFile).replace(/\r?\n$/, ''))
  const place = slot === undefined ? tokenLabel !== undefined && { tokenLabel } : tokenLabel === undefined && { slot }
  const mistakes = [
    ...(place === false ? [`${settingPath}: name the token either by tokenLabel or by slot`] : []),
    ...('mistake' in pin ? [pin.mistake] : []),
    ...('value' in pin && !/^[^\r\n]+$/.test(pin.value)
      ? [`${settingPath}.pinFile: it must have the PIN on one line: ${pinFile}`]
      : []),
  ]
  if (place === false || 'mistake' in pin || mistakes.length > 0) return { mistakes }
  return { pkcs11Key: { module, place, keyLabel, pin: pin.value } }
}
