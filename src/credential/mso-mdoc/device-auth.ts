/**
 * The bytes that the holder's device signs: over the session transcript, the docType and the device-signed elements.
 * Both sides compute these bytes; they are not sent. ISO/IEC 18013-5 section 9.1.3; OpenID4VP 1.0, appendix B.2.6,
 * Handover and SessionTranscript Definitions.
 */
import { hash } from 'node:crypto'
import { type Cbor, embedCbor, encodeCbor, type Tagged } from '../../codec/cbor.ts'
import type { Binding } from '../format.ts'

type SessionBinding = Pick<Binding, 'audience' | 'nonce' | 'encryptionKeyThumbprint' | 'responseUri'>

/** Makes the SessionTranscript for a response by redirect or `direct_post`. */
export function sessionTranscript({ audience, nonce, encryptionKeyThumbprint, responseUri }: SessionBinding): Cbor {
  const info = encodeCbor([audience, nonce, encryptionKeyThumbprint ?? null, responseUri])
  return [null, null, ['OpenID4VPHandover', hash('sha256', info, 'buffer')]]
}

/** Makes the DeviceAuthenticationBytes, the detached payload of the device signature. */
export function deviceAuthentication(session: SessionBinding, docType: string, deviceNameSpaces: Tagged): Uint8Array {
  return encodeCbor(embedCbor(['DeviceAuthentication', sessionTranscript(session), docType, deviceNameSpaces]))
}
