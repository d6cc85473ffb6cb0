/**
 * The smallest component that is of use to read: `POST /count` counts, and `POST /echo` answers the JSON that it was
 * sent, with the greeting of the contract beside it.
 */
import { type Context, component, json, type Request, type Response } from 'vouchsafe/component'

/** The first four bytes of the Keccak-256 of `greeting()`. */
const GREETING = Uint8Array.of(0xef, 0x69, 0x0c, 0xc0)

component({
  http(request: Request, context: Context): Response {
    if (request.method !== 'POST') return json(405, { error: 'Send it by POST' })
    if (request.path === '/count') return json(200, { count: count(context) })
    if (request.path === '/echo') return echo(request, context)
    return json(404, { error: 'There are /count and /echo' })
  },
  stateChange(context: Context): void {
    context.log(`the greeting is ${greeting(context)}`)
  },
})

/** Counts one more than the last time, on this engine. */
function count(context: Context): number {
  const counter = context.storage('counter')
  const stored = counter.get('count')
  const next = stored ? Number(new TextDecoder().decode(stored)) + 1 : 1
  counter.set('count', String(next))
  return next
}

function echo(request: Request, context: Context): Response {
  let echoed: unknown
  try {
    echoed = request.json()
  } catch {
    return json(400, { error: 'That is no JSON' })
  }
  return json(200, { greeting: greeting(context), echoed })
}

/** Reads the greeting, a text in the ABI: where it begins, how long it is, and its bytes. */
function greeting(context: Context): string {
  const answer = context.read(GREETING)
  const length = new DataView(answer.buffer, answer.byteOffset).getUint32(60)
  return new TextDecoder().decode(answer.subarray(64, 64 + length))
}
