/** Requests a status list from another server, and parses the response. Token Status List, Status List Request. */
import { MalformedError, type Problem } from '../../codec/malformed.ts'
import { IDENTIFIER_LIST_MEDIA_TYPE, STATUS_LIST_MEDIA_TYPES } from '../../codec/status-list.ts'
import type { CredentialFormat } from '../../credential/format.ts'
import type { Effects } from '../../http/effects.ts'
import { OutboundError } from '../../http/outbound.ts'
import { readBitstringCredential } from './bitstring.ts'
import {
  type FetchedStatusList,
  MAX_LIST_BYTES,
  readIdentifierListCwt,
  readStatusListCwt,
  readStatusListJwt,
} from './status-list-token.ts'
import type { StatusReference } from './status-reference.ts'

export type ListReference = Pick<StatusReference, 'kind' | 'uri'>

/** The type that is asked for first, where a server has a list in both. */
export type ListType = CredentialFormat['statusListType']

export interface ListRequest {
  readonly reference: ListReference
  readonly listType: ListType
}

export interface ListResponse {
  readonly list: FetchedStatusList
  readonly fetchedAt: Date
  readonly responseBytes: number
}

/** Why a list could not be loaded: the server is unreachable, or the response is not a list. */
export type FetchFailure = { readonly unreachable: string } | Problem

const TIMEOUT_MS = 5000

/** Requests a list once. A list that is returned can be read, and is not verified. */
export async function requestList(
  { reference: { kind, uri }, listType }: ListRequest,
  { outbound, now }: Pick<Effects<never>, 'outbound' | 'now'>,
  allowPrivateAddresses: boolean,
): Promise<ListResponse | FetchFailure> {
  const headers = { accept: acceptOf(kind, listType) }
  try {
    const response = await outbound({
      url: uri,
      headers,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_LIST_BYTES,
      allowPrivateAddresses,
      isHostUntrusted: true,
    })
    if (response.status !== 200) return { unreachable: `${new URL(uri).host} answered ${response.status}` }
    const list = await readList(kind, uri, response)
    return { list, fetchedAt: now(), responseBytes: response.body.length }
  } catch (error) {
    // A server that sends too much is not unreachable.
    if (error instanceof OutboundError && error.limit === 'size') return { problem: error.message }
    if (error instanceof OutboundError) return { unreachable: error.message }
    if (error instanceof MalformedError) return { problem: error.message, cause: error.cause }
    throw error
  }
}

function acceptOf(kind: StatusReference['kind'], listType: ListType): string {
  const { jwt, cwt } = STATUS_LIST_MEDIA_TYPES
  if (kind === 'bitstring') return 'application/vc+jwt, application/jwt;q=0.9, text/plain;q=0.1'
  if (kind === 'identifier list') return IDENTIFIER_LIST_MEDIA_TYPE
  return listType === 'cwt' ? `${cwt}, ${jwt};q=0.9` : `${jwt}, ${cwt};q=0.9`
}

async function readList(
  kind: StatusReference['kind'],
  uri: string,
  { headers, body }: { readonly headers: Readonly<Record<string, string>>; readonly body: Uint8Array },
): Promise<FetchedStatusList> {
  // A list from a static file may end with a newline.
  const text = (): string => Buffer.from(body).toString('latin1').trimEnd()
  if (kind === 'bitstring') return readBitstringCredential(text(), uri)
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  if (kind === 'identifier list') {
    if (type === IDENTIFIER_LIST_MEDIA_TYPE) return readIdentifierListCwt(body, uri)
    throw new MalformedError(`what was answered is not ${IDENTIFIER_LIST_MEDIA_TYPE}`)
  }
  if (type === STATUS_LIST_MEDIA_TYPES.cwt) return readStatusListCwt(body, uri)
  if (type === STATUS_LIST_MEDIA_TYPES.jwt) return readStatusListJwt(text(), uri)
  throw new MalformedError(
    `what was answered is neither ${STATUS_LIST_MEDIA_TYPES.jwt} nor ${STATUS_LIST_MEDIA_TYPES.cwt}`,
  )
}
