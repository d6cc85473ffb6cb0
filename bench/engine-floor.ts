/**
 * The work that no engine can do without, on bare `node:http`: SHA-256 of the request's body and of the answer's, and
 * an Ed25519 signature of the answer; for an upload also the recovery of the key that signed it, by the same library,
 * and a row on disk before the answer, one commit for all that came at once. The floor has no sandbox, no encryption,
 * no check, no chain and no log.
 */
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hexToBytes } from '@noble/hashes/utils.js'
import { loadRecovery } from '../src/offchain/authentication/key-recovery.ts'
import { openSqlite } from '../src/store/sqlite.ts'
import { createCollection } from '../src/store/store.ts'
import { PATHS } from './engine-place.ts'

type Collections = { share: string }
const MIGRATIONS = [{ id: 'floor-0001', statements: createCollection('share') }]

export async function runEngineFloor(): Promise<void> {
  const recover = await loadRecovery()
  // The file stands in the engine's place, which the benchmark takes away.
  const store = await openSqlite<Collections>('floor.db', MIGRATIONS)
  let storedCount = 0
  const { privateKey } = generateKeyPairSync('ed25519')
  const value = Buffer.alloc(1024)
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => void answer(request, Buffer.concat(chunks), response))
  })
  const answer = async ({ url, headers }: IncomingMessage, bytes: Buffer, response: ServerResponse): Promise<void> => {
    const isUpload = url?.includes(PATHS.share) === true
    const digest = sha256(bytes)
    if (isUpload) {
      recover(digest, signatureOf(headers.authorization ?? ''))
      await store.commit([{ insert: 'share', id: String(storedCount++), value: bytes.toString('base64') }])
    }
    const body = isUpload ? Buffer.alloc(0) : value
    const signature = sign(null, Buffer.concat([digest, sha256(body)]), privateKey).toString('hex')
    const answerHeaders = { 'content-length': body.length, 'x-engine-signature': signature }
    response.writeHead(isUpload ? 201 : 200, answerHeaders).end(body)
  }
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
