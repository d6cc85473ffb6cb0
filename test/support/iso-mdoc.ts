/** Answers to requests by `org-iso-mdoc`: what a wallet binds its documents to, and how it encrypts them. */
import { randomBytes } from 'node:crypto'
import { fromBase64url } from '../../src/codec/base64url.ts'
import { asArray, asMap, type Cbor, decodeCbor, encodeCbor } from '../../src/codec/cbor.ts'
import { stringMemberOf } from '../../src/codec/json.ts'
import { isoMdocTranscript } from '../../src/credential/mso-mdoc/device-auth.ts'
import { type IsoMdocRecipient, readEncryptionInfo, writeEncryptedResponse } from '../../src/protocol/iso-mdoc.ts'
import { sealHpke } from './hpke.ts'

/** Makes a DeviceResponse of the documents of several presentations. `change` replaces its members. */
export function joinDocuments(
  presentations: readonly string[],
  change: Readonly<Record<string, Cbor>> = {},
): Uint8Array {
  const documents = presentations.flatMap((text) =>
    asArray(asMap(decodeCbor(fromBase64url(text)), 'it').get('documents'), 'it'),
  )
  return encodeCbor(new Map<string, Cbor>(Object.entries({ version: '1.0', documents, status: 0, ...change })))
}

/** Encrypts a DeviceResponse to the key of a request, for its recipient or another one. */
export function encryptDeviceResponse(
  deviceResponse: Uint8Array,
  encryptionInfo: string,
  recipient: IsoMdocRecipient,
): string {
  const { recipientPublicKey } = readEncryptionInfo(encryptionInfo)
  const [x, y] = ['x', 'y'].map((name) => stringMemberOf(recipientPublicKey, name) ?? '')
  const info = encodeCbor(isoMdocTranscript(recipient))
  return writeEncryptedResponse(sealHpke(deviceResponse, { x: x ?? '', y: y ?? '' }, { info }, randomBytes))
}
