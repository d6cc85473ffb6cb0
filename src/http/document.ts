/** Public documents. All responses share the bytes of a document, and send them in pieces. */
import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** The number of bytes that are written to a connection at once. */
const PIECE = 64 * 1024

/** A document in parts, which several documents may share. */
export interface PublicDocument {
  readonly etag: string
  readonly parts: readonly Uint8Array[]
}

/** Makes a document from a text or from bytes. */
export function createPublicDocument(content: string | Uint8Array): PublicDocument {
  return { etag: `"${hash('sha256', content, 'base64url')}"`, parts: [Buffer.from(content)] }
}

/** Sends the document, or 304 if the client has it. RFC 9110 section 13.1.2. */
export function sendDocument(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { etag, parts }: PublicDocument,
): FastifyReply {
  reply.headers({ etag, 'cache-control': 'no-cache' })
  return isKnownTag(headers['if-none-match'], etag) ? reply.code(304).send() : sendPieces(reply, parts)
}

/** Sends shared bytes in pieces, so that a client that does not read causes little memory use. */
export function sendPieces(reply: FastifyReply, parts: readonly Uint8Array[]): FastifyReply {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  if (length <= PIECE) return reply.send(Buffer.concat(parts))
  return reply.header('content-length', length).send(Readable.from(piecesOf(parts)))
}

/** Tests whether `If-None-Match` matches the tag, by weak comparison. */
export function isKnownTag(condition: string | undefined, etag: string): boolean {
  const opaqueTag = (tag: string): string => tag.trim().replace(/^W\//, '')
  return (condition ?? '').split(',').some((tag) => tag.trim() === '*' || opaqueTag(tag) === opaqueTag(etag))
}

function* piecesOf(parts: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const part of parts) {
    for (let offset = 0; offset < part.length; offset += PIECE) yield part.subarray(offset, offset + PIECE)
  }
}
