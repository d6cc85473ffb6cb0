/**
 * Secret sharing: an engine keeps one share of each secret. `PUT /shares/{id}` brings it and `GET /shares/{id}`
 * fetches it, both signed by the owner that the contract names; a share must be what the owner committed to, and is
 * given out only in the window that the owner opened there. Whatever the contract is to delete is forgotten.
 */
import type { Context, Request, Response } from 'vouchsafe/component'
import { equal } from '../bytes.ts'
import { type Sharing, sharingOf } from './contract.ts'
import { deleteShares } from './deletions.ts'
import { LARGEST_SHARE, loadShare, storeShare } from './stored.ts'
import { announce, announceAgain } from './unconfirmed.ts'

/** The least bytes of a share, which begins with as many random bytes as nobody can guess. */
const SMALLEST_SHARE = 32

/** Answers a request for a share. Every answer but a share has an empty body, or an object with `error`. */
export function http(request: Request, context: Context): Response {
  const text = /^\/shares\/([^/?]+)$/.exec(request.uri)?.[1]
  if (text === undefined) return error(404, 'Invalid URL')
  if (request.method !== 'PUT' && request.method !== 'GET') return error(405, 'Invalid method')
  const id = parseId(text)
  if (id === undefined) return error(400, 'Malformed request')
  const sharing = sharingOf(id, context)
  if (sharing === undefined || sharing.deleting) return error(404, 'Unknown sharing')
  if (context.authenticate([sharing.owner]) === undefined) return error(401, 'Unauthorized')
  return request.method === 'PUT' ? upload(sharing, request, context) : download(sharing, context)
}

/** Brings the engine to where the contract is, from wherever it was. */
export function stateChange(context: Context): void {
  announceAgain(context)
  deleteShares(context)
}

/** Reads the decimal digits of a number below 2^128, in the one way to write it; undefined for any other text. */
function parseId(text: string): bigint | undefined {
  if (!/^(0|[1-9][0-9]{0,38})$/.test(text)) return undefined
  const id = BigInt(text)
  return id < 1n << 128n ? id : undefined
}

function upload(sharing: Sharing, request: Request, context: Context): Response {
  if (request.body.length < SMALLEST_SHARE) return error(400, 'Malformed request')
  if (request.body.length > LARGEST_SHARE) return error(413, `A share has ${LARGEST_SHARE} bytes at most`)
  const isStored = loadShare(sharing, context) !== undefined
  // A stored share is the one that was committed to, so that no two shares are ever compared byte by byte.
  if (!equal(request.bodyDigest(), sharing.commitment)) {
    return isStored ? error(409, 'Already stored') : error(401, "User uploaded data doesn't match commitment")
  }
  if (!isStored) storeShare(sharing, request.body, context)
  if (!sharing.uploaded) announce(sharing.ticket, isStored, context)
  return { status: 201 }
}

function download(sharing: Sharing, context: Context): Response {
  // Whichever clock is ahead closes the window: the engine's, or that of the block which it answers from.
  const now = Math.max(context.now().getTime(), context.block.time.getTime())
  if (now > sharing.downloadDeadline) {
    return error(400, 'Download not requested, or download deadline has been passed')
  }
  const share = loadShare(sharing, context)
  if (share === undefined) return error(404, 'Unknown sharing')
  return { status: 200, headers: { 'content-type': 'application/octet-stream' }, body: share }
}

function error(status: number, sentence: string): Response {
  const headers = { 'content-type': 'application/json' }
  return { status, headers, body: `{ "error": "${sentence}" }` }
}
