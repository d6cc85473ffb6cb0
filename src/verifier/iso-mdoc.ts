/**
 * `org-iso-mdoc`, a protocol of browsers beside OpenID4VP: asks for mdocs, and makes a `vp_token` of the documents of
 * the response, which is then verified as any other. ISO/IEC TS 18013-7 Annex C.
 */
import { fromBase64url, toBase64url } from '../codec/base64url.ts'
import { encodeCbor } from '../codec/cbor.ts'
import type { JsonObject } from '../codec/json.ts'
import { isoMdocTranscript } from '../credential/mso-mdoc/device-auth.ts'
import { type DocumentsQuery, toDocumentsQuery, writeDeviceRequest } from '../credential/mso-mdoc/device-request.ts'
import { type SeparateDocument, separateDocuments } from '../credential/mso-mdoc/device-response.ts'
import { openHpke } from '../keys/hpke.ts'
import type { PrivateJwk } from '../keys/private-jwk.ts'
import type { Signer } from '../keys/signer.ts'
import type { DcqlQuery } from '../protocol/dcql.ts'
import { refuse, refuseMalformed } from '../protocol/error.ts'
import { type IsoMdocRecipient, readEncryptedResponse, writeEncryptionInfo } from '../protocol/iso-mdoc.ts'

/** The values of a session that tie a response to it. */
export interface IsoMdocSession {
  /** The origin of the page that asks the browser. */
  readonly origin: string
  readonly nonce: string
  readonly encryptionKey: PrivateJwk
}

/** Makes the request for a query. Returns undefined if a DeviceRequest cannot say what the query asks. */
export async function makeIsoMdocRequest(
  session: IsoMdocSession,
  query: DcqlQuery,
  signer: Signer,
): Promise<JsonObject | undefined> {
  const documents = toDocumentsQuery(query)
  if (documents === undefined) return undefined
  const recipient = isoMdocRecipient(session)
  const deviceRequest = await writeDeviceRequest(documents, isoMdocTranscript(recipient), signer)
  return { deviceRequest: toBase64url(deviceRequest), encryptionInfo: recipient.encryptionInfo }
}

/** Returns where the response of a session goes. */
export function isoMdocRecipient({ origin, nonce, encryptionKey }: IsoMdocSession): IsoMdocRecipient {
  return { origin, encryptionInfo: writeEncryptionInfo(fromBase64url(nonce), encryptionKey) }
}

/** Translates a query. Refuses with `invalid_request` one that a DeviceRequest cannot say, so that none was made. */
export function requireDocumentsQuery(query: DcqlQuery): DocumentsQuery {
  return toDocumentsQuery(query) ?? refuse('invalid_request', 'protocol: org-iso-mdoc was not offered in the request')
}

/**
 * Decrypts a response, and returns its documents as the members of a response by OpenID4VP. A document that was not
 * asked for stands under its docType, and fails as an unknown credential query does. Refuses with `invalid_request` a
 * response that is malformed, or not for this session.
 */
export async function readIsoMdocResponse(
  response: string,
  session: IsoMdocSession,
  { queryIds }: Pick<DocumentsQuery, 'queryIds'>,
): Promise<JsonObject> {
  const documents = await decryptDocuments(response, session).catch((error: unknown) =>
    refuseMalformed('invalid_request', 'response', error),
  )
  const presentations = new Map<string, string[]>()
  for (const { docType, presentation } of documents) {
    const id = queryIds.get(docType) ?? docType
    const others = presentations.get(id)
    if (others === undefined) presentations.set(id, [presentation])
    else others.push(presentation)
  }
  // Object.fromEntries defines own members, even for `__proto__`.
  return { vp_token: Object.fromEntries(presentations) }
}

async function decryptDocuments(response: string, session: IsoMdocSession): Promise<readonly SeparateDocument[]> {
  const info = encodeCbor(isoMdocTranscript(isoMdocRecipient(session)))
  return separateDocuments(await openHpke(readEncryptedResponse(response), session.encryptionKey, info))
}
