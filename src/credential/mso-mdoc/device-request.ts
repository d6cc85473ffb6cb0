/**
 * The DeviceRequest, which asks for mdocs without OpenID4VP: made of a DCQL query, and signed by the verifier. It is of
 * version 1.1, and has the signatures of version 1.0 too, for wallets that know no later one. ISO/IEC 18013-5, second
 * edition, sections 10.2 and 12.5.
 */
import { type Cbor, type CborKey, embedCbor, encodeCbor, type Tagged } from '../../codec/cbor.ts'
import { writeSign1 } from '../../codec/cose.ts'
import { stringMemberOf } from '../../codec/json.ts'
import { algorithms } from '../../keys/signature.ts'
import type { Signer } from '../../keys/signer.ts'
import type { CredentialQuery, DcqlQuery } from '../../protocol/dcql.ts'
import { IDS } from './read.ts'

const VERSION = '1.1'

/** The maximum number of requested documents, since each has a signature. */
const MAX_DOCUMENTS = 10

/** A DCQL query in the terms of a DeviceRequest. */
export interface DocumentsQuery {
  /** The ItemsRequest of each credential query, in their order. */
  readonly itemsRequests: readonly Tagged[]
  /** The DeviceRequestInfo, which says what documents together answer the request. */
  readonly deviceRequestInfo: Tagged
  /** The id of the credential query for each docType. */
  readonly queryIds: ReadonlyMap<string, string>
}

/**
 * Translates a query. Returns undefined if a DeviceRequest cannot say what it asks, or if two credential queries have
 * the same docType, so that a document would not show which of them it answers.
 */
export function toDocumentsQuery({ credentials, credential_sets: sets }: DcqlQuery): DocumentsQuery | undefined {
  const ids = credentials.map(({ id }) => id)
  const queryIds = new Map(credentials.map((query) => [docTypeOf(query), query.id]))
  if (ids.length > MAX_DOCUMENTS || queryIds.size < ids.length || !credentials.every(isTranslatable)) return undefined
  const useCases = sets ?? [{ options: [ids] }]
  // With credential sets, a credential query that is in none of them asks for nothing.
  const usedIds = useCases.flatMap(({ options }) => options.flat())
  if (ids.some((id) => !usedIds.includes(id))) return undefined
  const info = useCases.map(
    ({ options, required = true }) =>
      new Map<CborKey, Cbor>([
        ['mandatory', required],
        ['documentSets', options.map((option) => option.map((id) => ids.indexOf(id)))],
      ]),
  )
  return {
    itemsRequests: credentials.map(makeItemsRequest),
    deviceRequestInfo: embedCbor(new Map([['useCases', info]])),
    queryIds,
  }
}

/** Writes a DeviceRequest that is signed for one session. */
export async function writeDeviceRequest(
  { itemsRequests, deviceRequestInfo }: DocumentsQuery,
  sessionTranscript: Cbor,
  signer: Signer,
): Promise<Uint8Array> {
  // In turn, so that a request for many documents takes no more of a slow key at once than one for a single document.
  const docRequests: Cbor[] = []
  for (const itemsRequest of itemsRequests) {
    const readerAuth = await sign(['ReaderAuthentication', sessionTranscript, itemsRequest], signer)
    docRequests.push(
      new Map<CborKey, Cbor>([
        ['itemsRequest', itemsRequest],
        ['readerAuth', readerAuth],
      ]),
    )
  }
  const everything = ['ReaderAuthenticationAll', sessionTranscript, itemsRequests, deviceRequestInfo]
  return encodeCbor(
    new Map<CborKey, Cbor>([
      ['version', VERSION],
      ['docRequests', docRequests],
      ['deviceRequestInfo', deviceRequestInfo],
      ['readerAuthAll', [await sign(everything, signer)]],
    ]),
  )
}

/** Signs a structure that both sides compute. It is not sent. */
function sign(structure: Cbor, signer: Signer): Promise<Cbor> {
  const content = {
    alg: algorithms[signer.alg].cose[0],
    x5chain: signer.x5c.map((text) => Buffer.from(text, 'base64')),
    payload: encodeCbor(embedCbor(structure)),
    detached: true,
  }
  return writeSign1(content, (data) => signer.sign(data))
}

/** Tests whether a DeviceRequest can say all that a credential query asks: it has no choices and no conditions. */
function isTranslatable(query: CredentialQuery): boolean {
  const { format, claims = [], claim_sets: sets, trusted_authorities: authorities, multiple } = query
  const isMdoc = IDS.some((id) => id === format) && docTypeOf(query) !== ''
  const isUnconditional = sets === undefined && authorities === undefined && multiple !== true
  return isMdoc && isUnconditional && claims.length > 0 && claims.every(({ values }) => values === undefined)
}

/** Makes an ItemsRequest: the docType, and for each element whether the verifier keeps it. */
function makeItemsRequest(query: CredentialQuery): Tagged {
  const nameSpaces = new Map<string, Map<string, boolean>>()
  for (const { path, intent_to_retain: isRetained = false } of query.claims ?? []) {
    const [nameSpace = '', element = ''] = path.map(String)
    const elements = nameSpaces.get(nameSpace) ?? new Map<string, boolean>()
    nameSpaces.set(nameSpace, elements.set(element, isRetained))
  }
  return embedCbor(
    new Map<CborKey, Cbor>([
      ['docType', docTypeOf(query)],
      ['nameSpaces', nameSpaces],
    ]),
  )
}

/** Returns the docType that a query asks for; an empty text if it asks for any. */
function docTypeOf({ meta }: CredentialQuery): string {
  return stringMemberOf(meta, 'doctype_value') ?? ''
}
