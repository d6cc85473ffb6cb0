/**
 * Bodies of requests: bounded while they come, each, those for one contract, and all together, so that nobody can fill the memory,
 * nor keep others from it: where it is full, bodies of which nothing has come for a while make room.
 */
import type { IncomingMessage } from 'node:http'
import type { Address } from '../offchain/address.ts'

export type BodyRefusal = 'body-too-large' | 'overloaded' | 'bad-request'

export interface Bodies {
  /** The body, and what gives its memory back; or why it is not taken, and then no more of it has been read. */
  read(request: IncomingMessage, contract: Address): Promise<ReadBody | BodyRefusal>
  /** Bytes that are in memory now. */
  held(): number
}

export interface ReadBody {
  readonly bytes: Uint8Array
  release(): void
}

/** How much may be held, of one body and of all. */
interface Bounds {
  readonly bodyBytes: number
  readonly bufferedBytes: number
}

/** What is in memory now, of all requests. */
interface Held {
  /** Whether there is room for so much more. */
  readonly hasRoom: (contract: Address, bytes: number) => boolean
  readonly add: (contract: Address, bytes: number) => void
  readonly bytes: () => number
  /** Those that are still coming. */
  readonly coming: Set<Coming>
}

interface Coming {
  /** When something of it came last. */
  at: number
  readonly drop: () => void
}

/** A body of which nothing came for so long may have to make room. */
const STALLED_MS = 2000

export function bodies(bounds: Bounds, now: () => Date): Bodies {
  const held = heldUpTo(bounds, now)
  return {
    read: (request, contract) => {
      const declared = Number(request.headers['content-length'] ?? 0)
      if (declared > bounds.bodyBytes) return Promise.resolve('body-too-large')
      if (!held.hasRoom(contract, declared)) return Promise.resolve('overloaded')
      return collect({ request, contract, bodyBytes: bounds.bodyBytes, held, now })
    },
    held: held.bytes,
  }
}

/** Those for one contract may have half of it, or one of them. */
function heldUpTo({ bodyBytes, bufferedBytes }: Bounds, now: () => Date): Held {
  const each = Math.max(bodyBytes, bufferedBytes / 2)
  const byContract = new Map<Address, number>()
  const coming = new Set<Coming>()
  let all = 0
  const fits = (contract: Address, bytes: number): boolean =>
    all + bytes <= bufferedBytes && (byContract.get(contract) ?? 0) + bytes <= each
  return {
    coming,
    bytes: () => all,
    add: (contract, bytes) => {
      const sum = (byContract.get(contract) ?? 0) + bytes
      all += bytes
      if (sum === 0) byContract.delete(contract)
      else byContract.set(contract, sum)
    },
    hasRoom: (contract, bytes) => {
      if (fits(contract, bytes)) return true
      const before = now().getTime() - STALLED_MS
      for (const one of [...coming]) if (one.at < before) one.drop()
      return fits(contract, bytes)
    },
  }
}

interface Collecting {
  readonly request: IncomingMessage
  readonly contract: Address
  readonly bodyBytes: number
  readonly held: Held
  readonly now: () => Date
}

function collect({ request, contract, bodyBytes, held, now }: Collecting): Promise<ReadBody | BodyRefusal> {
  return new Promise((resolve) => {
    const parts: Buffer[] = []
    let size = 0
    const release = (): void => {
      held.add(contract, -size)
      size = 0
    }
    const end = (result: ReadBody | BodyRefusal): void => {
      held.coming.delete(coming)
      request.off('data', take).off('end', finish).off('error', fail).off('close', fail)
      if (typeof result === 'string') release()
      resolve(result)
    }
    const refuse = (why: BodyRefusal): void => {
      request.pause()
      parts.length = 0
      end(why)
    }
    const coming: Coming = { at: now().getTime(), drop: () => refuse('overloaded') }
    held.coming.add(coming)
    const take = (part: Buffer): void => {
      coming.at = now().getTime()
      const hasRoom = held.hasRoom(contract, part.length)
      size += part.length
      held.add(contract, part.length)
      parts.push(part)
      if (size > bodyBytes) refuse('body-too-large')
      else if (!hasRoom) refuse('overloaded')
    }
    const finish = (): void => {
      end({ bytes: Buffer.concat(parts), release })
    }
    const fail = (): void => {
      end('bad-request')
    }
    request.on('data', take).once('end', finish).once('error', fail).once('close', fail)
  })
}
