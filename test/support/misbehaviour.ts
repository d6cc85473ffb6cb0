/** The faults that an engine of secret sharing can be told to make, except in its signatures. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'

/** The faults of an engine. */
export type Misbehaviour =
  | 'none'
  /** Gives another share than the one it took. */
  | 'wrong-share'
  /** Gives the share of another engine. */
  | 'share-of-another'
  /** Answers, after the client has lost patience. */
  | 'slow'
  | 'breaks-off'
  /** Answers with a body without end. */
  | 'endless'
  | 'redirects'
  | 'not-this-engine'
  | 'unknown-contract'
  | 'trap'
  | 'overloaded-once'
  /** Says that its contract has asked for all the transactions of a day. */
  | 'over-quota'
  /** Answers by a block that knows nothing of it, the first two times. */
  | 'behind'
  | 'refuses'
  /** Puts what it was sent, and what it keeps, into its refusal, its headers and its problem code. */
  | 'echoes'
  /** Signs something else. */
  | 'wrong-signature'
  /** Signs with a key that its identity did not endorse. */
  | 'foreign-key'
  /** Signs, and does not say with which key. */
  | 'hides-its-key'
  | 'malformed-signature'
  | 'unsigned'
  /** Says that it took the share, and never tells the chain. */
  | 'forgets'

export interface Misbehaving {
  readonly behaviour: Misbehaviour
  /** The requests since the behaviour of the engine was set. */
  patience: number
}

export interface EngineRequest {
  readonly method: string
  readonly uri: string
  readonly body: Uint8Array
  readonly authorization: string
  readonly contentType: string
}

export interface EngineReply {
  status: number
  body: Uint8Array
  headers: Record<string, string>
}

/** Tests whether the engine has answered already, in a way that is not an answer. */
export async function misbehaves(engine: Misbehaving, response: ServerResponse): Promise<boolean> {
  const problem = (status: number, code: string): true => {
    response.writeHead(status, { 'x-engine-error': code, 'content-type': 'application/problem+json' })
    response.end(JSON.stringify({ status, code }))
    return true
  }
  switch (engine.behaviour) {
    case 'slow':
      await once(response, 'close')
      return true
    case 'breaks-off':
      response.destroy()
      return true
    case 'endless':
      response.writeHead(200)
      while (!response.destroyed) {
        if (!response.write(Buffer.alloc(65_536))) await wait(1)
      }
      return true
    case 'redirects':
      response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end()
      return true
    case 'not-this-engine':
      return problem(421, 'not-this-engine')
    case 'unknown-contract':
      return problem(404, 'unknown-contract')
    case 'trap':
      return problem(500, 'component-trap')
    case 'over-quota':
      return problem(503, 'transaction-quota')
    case 'overloaded-once':
      engine.patience += 1
      return engine.patience === 1 && problem(503, 'overloaded')
    default:
      return false
  }
}

/** Tests whether the engine answers by an older block. */
export function isBehind(engine: Misbehaving): boolean {
  return engine.behaviour === 'behind' && engine.patience++ < 2
}

/** Makes the wrong answer. `other` is the share of another engine. */
export function changeAnswer(
  engine: Misbehaving,
  request: EngineRequest,
  reply: EngineReply,
  other: Uint8Array | undefined,
): EngineReply {
  const isShare = request.method === 'GET' && reply.status === 200
  if (engine.behaviour === 'behind' && engine.patience < 2) return refusal(404, 'Unknown sharing')
  if (engine.behaviour === 'refuses') return refusal(401, 'Unauthorized')
  if (engine.behaviour === 'wrong-share' && isShare) return { ...reply, body: reply.body.map((byte) => byte ^ 1) }
  if (engine.behaviour === 'share-of-another' && isShare) return { ...reply, body: other ?? reply.body }
  if (engine.behaviour === 'echoes') {
    const share = request.body.length > 0 ? request.body : reply.body
    const hex = Buffer.from(share).toString('hex').slice(0, 4000)
    const headers = { 'x-engine-error': hex, 'content-type': 'text/plain' }
    return { status: 500, body: Buffer.from(`${hex} ${Buffer.from(share).toString('base64')}`), headers }
  }
  return reply
}

export function refusal(status: number, error: string): EngineReply {
  return { status, body: Buffer.from(`{ "error": "${error}" }`), headers: {} }
}
