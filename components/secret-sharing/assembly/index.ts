// Secret sharing in AssemblyScript: what ../shares.ts is in TypeScript, answer by answer and byte by byte of storage.
import { equal, Id, Sharing, sharingOf } from './contract'
import { deleteShares } from './deletions'
import { blockTime, input, isSignedBy, now, output, Reader, Writer } from './host'
import { sha256 } from './sha256'
import { loadShare, storeShare } from './stored'
import { announce, announceAgain, announceCollected } from './unconfirmed'

const HTTP_RESPONSE: u8 = 0x22
const SMALLEST_SHARE: i32 = 32
const PATH = '/shares/'

export function off_chain_on_http_request(ptr: i32, len: i32): i64 {
  const from = input(ptr, len)
  const contract = from.address()
  const engine = from.address()
  return output(HTTP_RESPONSE, http(from, contract, engine))
}

export function off_chain_on_state_change(ptr: i32, len: i32): i64 {
  const from = input(ptr, len)
  const contract = from.address()
  const engine = from.address()
  announceAgain(contract, engine)
  deleteShares(contract, engine)
  return output(0, null)
}

export function off_chain_thread_1(ptr: i32, len: i32): i64 {
  return off_chain_on_state_change(ptr, len)
}

export function off_chain_thread_2(ptr: i32, len: i32): i64 {
  const from = input(ptr, len)
  announceCollected(from.address())
  return output(0, null)
}

export function off_chain_thread_3(ptr: i32, len: i32): i64 {
  const from = input(ptr, len)
  const contract = from.address()
  deleteShares(contract, from.address())
  return output(0, null)
}

function http(from: Reader, contract: Uint8Array, engine: Uint8Array): Uint8Array {
  const method = from.text()
  const uri = from.text()
  skipHeaders(from)
  const body = from.bytes()
  if (!isShare(uri)) return error(404, 'Invalid URL')
  if (method != 'PUT' && method != 'GET') return error(405, 'Invalid method')
  const id = parseId(uri.substring(PATH.length))
  if (!id) return error(400, 'Malformed request')
  const sharing = sharingOf(id, engine)
  if (!sharing || sharing.deleting) return error(404, 'Unknown sharing')
  if (!isSignedBy(sharing.owner)) return error(401, 'Unauthorized')
  return method == 'PUT' ? upload(sharing, body, contract) : download(sharing)
}

function upload(sharing: Sharing, share: Uint8Array, contract: Uint8Array): Uint8Array {
  if (share.length < SMALLEST_SHARE) return error(400, 'Malformed request')
  const stored = loadShare(sharing)
  if (stored && !equal(stored, share)) return error(409, 'Already stored')
  if (!equal(sha256(share), sharing.commitment)) {
    return error(401, "User uploaded data doesn't match commitment")
  }
  if (!stored) storeShare(sharing, share)
  if (!sharing.uploaded) announce(sharing.ticket, stored != null, contract)
  return response(201, null, new Uint8Array(0))
}

function download(sharing: Sharing): Uint8Array {
  if (max(now(), blockTime()) > sharing.downloadDeadline) {
    return error(400, 'Download not requested, or download deadline has been passed')
  }
  const share = loadShare(sharing)
  if (!share) return error(404, 'Unknown sharing')
  return response(200, 'application/octet-stream', share)
}

function isShare(uri: string): bool {
  if (!uri.startsWith(PATH) || uri.length == PATH.length) return false
  const rest = uri.substring(PATH.length)
  return !rest.includes('/') && !rest.includes('?')
}

/** The decimal digits of a number below 2^128, in the one way to write it; null for anything else. */
function parseId(text: string): Id | null {
  if (text.length == 0 || text.length > 39 || (text.length > 1 && text.charCodeAt(0) == 0x30)) return null
  const id = new Uint8Array(16)
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 0x30
    if (digit < 0 || digit > 9) return null
    let carry: u32 = <u32>digit
    for (let at = 15; at >= 0; at--) {
      carry += <u32>id[at] * 10
      id[at] = <u8>carry
      carry >>= 8
    }
    if (carry != 0) return null
  }
  return id
}

function skipHeaders(from: Reader): void {
  for (let headers = from.u32(); headers > 0; headers--) {
    from.bytes()
    for (let values = from.u32(); values > 0; values--) from.bytes()
  }
}

function error(status: u32, sentence: string): Uint8Array {
  return response(status, 'application/json', Uint8Array.wrap(String.UTF8.encode('{ "error": "' + sentence + '" }')))
}

function response(status: u32, contentType: string | null, body: Uint8Array): Uint8Array {
  const to = new Writer()
  to.u32(status)
  to.u32(contentType ? 1 : 0)
  if (contentType) {
    to.text('content-type')
    to.u32(1)
    to.text(contentType)
  }
  to.bytes(body)
  return to.done()
}
