/**
 * Bodies of requests are bounded while they arrive: each body, those for one contract, and all together. Where the
 * memory is full, bodies of which nothing has arrived for a while make room, and then the oldest bodies for the
 * contract that has the most.
 */
import type { IncomingMessage } from 'node:http'
import { type BodyMemory, createBodyMemory, type IncomingBody } from '../http/body-memory.ts'
import type { Address } from '../offchain/address.ts'

export interface BodyRefusal {
  readonly refusal: 'body-too-large' | 'overloaded' | 'bad-request'
}

export interface BodyBuffer {
  /**
   * Reads the body, and returns it with what gives its memory back; or the code of the refusal, and then no more of the
   * body has been read.
   */
  read(request: IncomingMessage, contract: Address): Promise<ReadBody | BodyRefusal>
  /** Bytes that are in memory now. */
  held(): number
}

export interface ReadBody {
  readonly bytes: Uint8Array
  release(): void
}

/** The most bytes that may be held, of one body and of all. */
interface Bounds {
  readonly bodyBytes: number
  readonly bufferedBytes: number
}

export function createBodyBuffer(bounds: Bounds, now: () => Date): BodyBuffer {
  // The bodies for one contract may have half of it, or one of them.
  const perOwner = Math.max(bounds.bodyBytes, bounds.bufferedBytes / 2)
  const held = createBodyMemory({ total: bounds.bufferedBytes, perOwner }, now)
  return {
    read: (request, contract) => {
      const declared = Number(request.headers['content-length'] ?? 0)
      if (declared > bounds.bodyBytes) return Promise.resolve({ refusal: 'body-too-large' })
      return collect({ request, contract, bodyBytes: bounds.bodyBytes, held, now })
    },
    held: held.countBytes,
  }
}

interface Collecting {
  readonly request: IncomingMessage
  readonly contract: Address
  readonly bodyBytes: number
  readonly held: BodyMemory
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
      held.incomingBodies.delete(coming)
      request.off('data', take).off('end', finish).off('error', fail).off('close', fail)
      if ('refusal' in result) release()
      resolve(result)
    }
    const refuse = (refusal: BodyRefusal['refusal']): void => {
      request.pause()
      parts.length = 0
      end({ refusal })
    }
    const coming: IncomingBody = { owner: contract, lastPartAt: now().getTime(), drop: () => refuse('overloaded') }
    held.incomingBodies.add(coming)
    const take = (part: Buffer): void => {
      coming.lastPartAt = now().getTime()
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
      end({ refusal: 'bad-request' })
    }
    request.on('data', take).once('end', finish).once('error', fail).once('close', fail)
  })
}
