/**
 * Separates a DeviceResponse with several documents, as `org-iso-mdoc` has them, into presentations with one document
 * each, as OpenID4VP has them. ISO/IEC 18013-5 section 8.3.2.1.2.2.
 */
import { asMap, asText, decodeCbor } from '../../codec/cbor.ts'
import { MDOC_VERSION } from './issuer-signed.ts'
import { writeDeviceResponse } from './present.ts'
import { readDocuments } from './read.ts'

/** The versions with the same documents. A wallet may answer a request of the later one with it. */
const VERSIONS = [MDOC_VERSION, '1.1']

export interface SeparateDocument {
  /** The docType, as the wallet states it. */
  readonly docType: string
  readonly presentation: string
}

/** Separates the documents. Signed parts are kept as they are, in their byte strings. Throws a MalformedError. */
export function separateDocuments(deviceResponse: Uint8Array): readonly SeparateDocument[] {
  const documents = readDocuments(decodeCbor(deviceResponse, { longNumbers: true }), VERSIONS)
  return documents.map((document) => ({
    docType: asText(asMap(document, 'a document').get('docType'), 'docType of a document'),
    presentation: writeDeviceResponse(document),
  }))
}
