/**
 * What no engine can do without, on bare `node:http`: SHA-256 of the request's body and of the answer's, an Ed25519 signature of the
 * answer; of an upload also the recovery of who signed it, by the same library. No sandbox, no storage, no check, no log.
 */
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hexToBytes } from '@noble/hashes/utils.js'
import { type Library, libraries } from '../src/offchain/authentication/fast-recovery.ts'
import { PATHS } from './engine-place.ts'

export async function runEngineFloor(library: Library): Promise<void> {
  const recover = await libraries[library]()
  const { privateKey } = generateKeyPairSync('ed25519')
  const value = Buffer.alloc(1024)
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => {
        const isUpload = request.url?.includes(PATHS.share) === true
        const digest = sha256(Buffer.concat(chunks))
        if (isUpload) recover(digest, signatureOf(request.headers.authorization ?? ''))
        const body = isUpload ? Buffer.alloc(0) : value
        const signature = sign(null, Buffer.concat([digest, sha256(body)]), privateKey).toString('hex')
        const headers = { 'content-length': body.length, 'x-engine-signature': signature }
        response.writeHead(isUpload ? 201 : 200, headers).end(body)
      })
  })
  server.keepAliveTimeout = 65_000
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo
    process.stdout.write(`${JSON.stringify({ event: 'listening', port })}\n`)
  })
  process.on('SIGTERM', () => process.exit(0))
}

function signatureOf(authorization: string) {
  const [, text = ''] = authorization.split(' ')
  return { compact: hexToBytes(text.slice(2)), recovery: text.startsWith('01') ? 1 : 0 } as const
}

function sha256(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest()
}
