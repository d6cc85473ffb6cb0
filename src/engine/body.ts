/** Bodies of requests: bounded while they come, each and all together, so that nobody can fill the memory. */
import type { IncomingMessage } from 'node:http'

export type BodyRefusal = 'body-too-large' | 'overloaded' | 'bad-request'

export interface Bodies {
  /** The body, and what gives its memory back; or why it is not taken, and then no more of it has been read. */
  read(request: IncomingMessage): Promise<ReadBody | BodyRefusal>
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
  bytes: number
}

export function bodies(bounds: Bounds): Bodies {
  const held: Held = { bytes: 0 }
  return {
    read: (request) => {
      const declared = Number(request.headers['content-length'] ?? 0)
      if (declared > bounds.bodyBytes) return Promise.resolve('body-too-large')
      if (held.bytes + declared > bounds.bufferedBytes) return Promise.resolve('overloaded')
      return collect(request, bounds, held)
    },
    held: () => held.bytes,
  }
}

function collect(
  request: IncomingMessage,
  { bodyBytes, bufferedBytes }: Bounds,
  held: Held,
): Promise<ReadBody | BodyRefusal> {
  return new Promise((resolve) => {
    const parts: Buffer[] = []
    let size = 0
    const release = (): void => {
      held.bytes -= size
      size = 0
    }
    const end = (result: ReadBody | BodyRefusal): void => {
      request.off('data', take).off('end', finish).off('error', fail).off('close', fail)
      if (typeof result === 'string') release()
      resolve(result)
    }
    const take = (part: Buffer): void => {
      size += part.length
      held.bytes += part.length
      parts.push(part)
      if (size <= bodyBytes && held.bytes <= bufferedBytes) return
      request.pause()
      parts.length = 0
      end(size > bodyBytes ? 'body-too-large' : 'overloaded')
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
