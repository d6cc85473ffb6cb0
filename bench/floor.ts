/**
 * The floor: the work that no service of these protocols can do without, on bare `node:http`. The floor answers the
 * requests of a flow with bodies of the service's own, recorded from it, and for real it only
 * - signs the access token and the credential, or the request object, anew each time with ES256,
 * - imports the holder's key from its JWK and verifies the key proof, or the issuer's signature and the holder's,
 * - decrypts the response, where it is encrypted.
 * The floor parses of a request what leads to these signatures. It has no database, no sessions, no schema, no digest,
 * no check and no log.
 */
import { createPrivateKey, createPublicKey, type JsonWebKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Constants, type SignedKind, type VerifiedKind, verifyBody, writer } from './floor-work.ts'

/** The script that the floor reads from a file. Keys are PEM. */
export interface FloorScript {
  readonly signingKey: string
  readonly issuerKey: string
  readonly responseKey?: JsonWebKey | undefined
  /** The bytes that the device of an mdoc signs, in Base64. */
  readonly deviceSigned?: string | undefined
  readonly answers: readonly FloorAnswer[]
}

/** The work that is done before an answer. */
export interface FloorWork {
  readonly verify?: VerifiedKind
  readonly sign?: SignedKind
}

export interface FloorAnswer {
  /** The beginning of the path of the request. */
  readonly prefix: string
  readonly type: string
  readonly body: string
  readonly work: FloorWork
}

export function runFloor(scriptFile: string): void {
  const script = JSON.parse(readFileSync(scriptFile, 'utf8')) as FloorScript
  const signingKey = createPrivateKey(script.signingKey)
  const constants: Constants = {
    issuerKey: createPublicKey(script.issuerKey),
    responseKey: script.responseKey,
    deviceSigned: Buffer.from(script.deviceSigned ?? '', 'base64'),
  }
  const answers = script.answers.map((answer) => ({
    ...answer,
    write: writer(answer.work.sign, answer.body, signingKey),
  }))
  const server = createServer((request, response) => {
    readBody(request, (body) => {
      const answer = answers.find(({ prefix }) => request.url?.startsWith(prefix))
      const what = answer?.work.verify
      if (answer === undefined || (what !== undefined && !verifyBody(what, body, constants))) {
        response.writeHead(400, { 'content-length': 0 }).end()
        return
      }
      const text = answer.write()
      response.writeHead(200, { 'content-type': answer.type, 'content-length': Buffer.byteLength(text) }).end(text)
    })
  })
  server.keepAliveTimeout = 65_000
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo
    process.stdout.write(`${JSON.stringify({ event: 'listening', port })}\n`)
  })
  process.on('SIGTERM', () => process.exit(0))
}

function readBody(request: IncomingMessage, onBody: (body: string) => void): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => onBody(Buffer.concat(chunks).toString()))
}
