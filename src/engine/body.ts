/**
 * Reads request bodies into a limited memory. Limits apply to each body, to the bodies for one contract, and to all
 * bodies together. When the memory is full, bodies of which nothing has arrived for a while are dropped first, and then
 * the oldest bodies for the contract that holds the most bytes.
 */
import type { IncomingMessage } from 'node:http'
import { type BodyMemory, createBodyMemory, MIN_PART_WEIGHT } from '../http/body-memory.ts'
import type { Address } from '../offchain/address.ts'

export interface BodyRefusal {
  readonly refusal: 'body-too-large' | 'body-in-tiny-parts' | 'overloaded' | 'bad-request'
}

export interface BodyBuffer {
  /**
   * Reads the body, and returns its bytes with a function that frees their memory. Returns the code of a refusal when a
   * limit is exceeded or the connection fails; the rest of the body then stays unread.
   */
  read(request: IncomingMessage, contract: Address): Promise<ReadBody | BodyRefusal>
  /** Returns the number of bytes of bodies that are in memory. */
  countHeldBytes(): number
}

export interface ReadBody {
  readonly bytes: Uint8Array
  /** Frees the memory; called when the call has ended. */
  release(): void
}

/** The most bytes of one body, and of all bodies that are in memory at once. */
interface Bounds {
  readonly bodyBytes: number
  readonly bufferedBytes: number
}

/** Makes the memory for the request bodies of an engine. */
export function createBodyBuffer(bounds: Bounds, now: () => Date): BodyBuffer {
  // The last part of a body may be small.
  const largestBody = bounds.bodyBytes + MIN_PART_WEIGHT
  // The bodies for one contract may have half of the memory, or one body of the largest size.
  const perOwner = Math.max(largestBody, bounds.bufferedBytes / 2)
  const memory = createBodyMemory({ total: Math.max(largestBody, bounds.bufferedBytes), perOwner }, now)
  return {
    read: (request, contract) => {
      const declaredBytes = Number(request.headers['content-length'] ?? 0)
      if (declaredBytes > bounds.bodyBytes) return Promise.resolve({ refusal: 'body-too-large' })
      return collectBody({ request, contract, bodyBytes: bounds.bodyBytes, memory })
    },
    countHeldBytes: memory.countBytes,
  }
}

interface BodyCollection {
  readonly request: IncomingMessage
  readonly contract: Address
  readonly bodyBytes: number
  readonly memory: BodyMemory
}

function collectBody({ request, contract, bodyBytes, memory }: BodyCollection): Promise<ReadBody | BodyRefusal> {
  return new Promise((resolve) => {
    const parts: Buffer[] = []
    let size = 0
    const end = (result: ReadBody | BodyRefusal): void => {
      request.off('data', addPart).off('end', finish).off('error', fail).off('close', fail)
      resolve(result)
    }
    const refuse = (refusal: BodyRefusal['refusal']): void => {
      request.pause()
      parts.length = 0
      body.release()
      end({ refusal })
    }
    const body = memory.begin(contract, () => refuse('overloaded'))
    const addPart = (part: Buffer): void => {
      const problem = body.addPart(part)
      size += part.length
      parts.push(part)
      if (size > bodyBytes) refuse('body-too-large')
      else if (problem === 'tiny') refuse('body-in-tiny-parts')
      else if (problem !== undefined) refuse('overloaded')
    }
    const finish = (): void => {
      body.complete()
      end({ bytes: Buffer.concat(parts), release: body.release })
    }
    const fail = (): void => refuse('bad-request')
    request.on('data', addPart).once('end', finish).once('error', fail).once('close', fail)
  })
}
