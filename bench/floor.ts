/**
 * The floor: what no service that speaks these protocols can do without, on bare `node:http`. It answers the requests of a
 * flow with bodies of the service's own, recorded from it, and for real it only
 * - signs the access token and the credential, or the request object, anew each time with ES256,
 * - imports the holder's key from its JWK and verifies the key proof, or the issuer's signature and the key binding.
 * It parses of a request what leads to these signatures. No database, no sessions, no schema, no check, no log.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export const FLOOR_SAYS = {
  issuance:
    'bare node:http, 7 requests, answers recorded from the service; 1 ES256 verification with a fresh key from its JWK, ' +
    '2 ES256 signatures; no database',
  verification:
    'bare node:http, 4 requests, answers recorded from the service; 2 ES256 verifications, one with a fresh key from its ' +
    'JWK, 1 ES256 signature; no database',
} as const

/** What the floor is told in a file. Keys are PEM. */
export interface FloorScript {
  readonly signingKey: string
  readonly issuerKey: string
  readonly answers: readonly FloorAnswer[]
}

export interface FloorAnswer {
  /** How the path of the request begins. */
  readonly prefix: string
  readonly type: string
  readonly body: string
  /** What is done before it is answered. */
  readonly work?: 'sign' | 'verify-proof-and-sign' | 'verify-presentation' | undefined
}

export function runFloor(scriptFile: string): void {
  const script = JSON.parse(readFileSync(scriptFile, 'utf8')) as FloorScript
  const issuerKey = createPublicKey(script.issuerKey)
  const signingKey = createPrivateKey(script.signingKey)
  const answers = script.answers.map((answer) => ({ ...answer, write: writer(answer, signingKey) }))
  const server = createServer((request, response) => {
    readBody(request, (body) => {
      const answer = answers.find(({ prefix }) => request.url?.startsWith(prefix))
      if (answer === undefined || !verified(answer, body, issuerKey)) {
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

function readBody(request: IncomingMessage, done: (body: string) => void): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => done(Buffer.concat(chunks).toString()))
}

/** The recorded body, its first JWS signed anew where there is something to sign. */
function writer({ body, work }: FloorAnswer, key: KeyObject): () => string {
  if (work !== 'sign' && work !== 'verify-proof-and-sign') return () => body
  const [jws = '', signed = ''] = /([\w-]+\.[\w-]+)\.[\w-]{86}/.exec(body) ?? []
  if (signed === '') throw new Error(`nothing to sign in ${body}`)
  const begin = body.indexOf(jws)
  const [before, after] = [body.slice(0, begin), body.slice(begin + jws.length)]
  return () => {
    const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
    return `${before}${signed}.${signature.toString('base64url')}${after}`
  }
}

function verified({ work }: FloorAnswer, body: string, issuerKey: KeyObject): boolean {
  if (work === 'verify-proof-and-sign') {
    const { proof } = JSON.parse(body) as { proof: { jwt: string } }
    const { kid } = part(proof.jwt, 0) as { kid: string }
    return isSigned(proof.jwt, importKey(decode(kid.slice('did:jwk:'.length, -'#0'.length))))
  }
  if (work === 'verify-presentation') {
    const vpToken = JSON.parse(new URLSearchParams(body).get('vp_token') ?? '') as { card: [string] }
    const parts = vpToken.card[0].split('~')
    const [credential = '', keyBinding = ''] = [parts[0], parts.at(-1)]
    const { cnf } = part(credential, 1) as { cnf: { jwk: object } }
    return isSigned(credential, issuerKey) && isSigned(keyBinding, importKey(cnf.jwk))
  }
  return true
}

function importKey(jwk: object): KeyObject {
  return createPublicKey({ key: { ...jwk }, format: 'jwk' })
}

function isSigned(jwt: string, key: KeyObject): boolean {
  const end = jwt.lastIndexOf('.')
  const signature = Buffer.from(jwt.slice(end + 1), 'base64url')
  return verify('sha256', Buffer.from(jwt.slice(0, end)), { key, dsaEncoding: 'ieee-p1363' }, signature)
}

function part(jwt: string, index: number): object {
  return decode(jwt.split('.')[index] ?? '')
}

function decode(text: string): object {
  return JSON.parse(Buffer.from(text, 'base64url').toString()) as object
}
