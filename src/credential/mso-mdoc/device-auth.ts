/**
 * The bytes that the holder's device signs: over the session transcript, the docType and the device-signed elements.
 * Both sides compute these bytes; they are not sent. ISO/IEC 18013-5 section 9.1.3; OpenID4VP 1.0, appendix B.2.6,
 * Handover and SessionTranscript Definitions.
 */
import { hash } from 'node:crypto'
import { type Cbor, embedCbor, encodeCbor, type Tagged } from '../../codec/cbor.ts'
import type { IsoMdocRecipient } from '../../protocol/iso-mdoc.ts'
import type { Binding } from '../format.ts'

type SessionBinding = Pick<Binding, 'audience' | 'nonce' | 'encryptionKeyThumbprint' | 'recipient'>

/** Makes the SessionTranscript, whose handover depends on where the response goes. */
export function sessionTranscript({ audience, nonce, encryptionKeyThumbprint, recipient }: SessionBinding): Cbor {
  if ('encryptionInfo' in recipient) return isoMdocTranscript(recipient)
  const thumbprint = encryptionKeyThumbprint ?? null
  return 'origin' in recipient
    ? makeTranscript('OpenID4VPDCAPIHandover', [recipient.origin, nonce, thumbprint])
    : makeTranscript('OpenID4VPHandover', [audience, nonce, thumbprint, recipient.responseUri])
}

/** Makes the SessionTranscript for a response by `org-iso-mdoc`. ISO/IEC TS 18013-7 Annex C. */
export function isoMdocTranscript({ origin, encryptionInfo }: IsoMdocRecipient): Cbor {
  return makeTranscript('dcapi', [encryptionInfo, origin])
}

function makeTranscript(handover: string, info: Cbor): Cbor {
  return [null, null, [handover, hash('sha256', encodeCbor(info), 'buffer')]]
}

/** Makes the DeviceAuthenticationBytes, the detached payload of the device signature. */
export function deviceAuthentication(session: SessionBinding, docType: string, deviceNameSpaces: Tagged): Uint8Array {
  return encodeCbor(embedCbor(['DeviceAuthentication', sessionTranscript(session), docType, deviceNameSpaces]))
}
