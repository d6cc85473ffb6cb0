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

export function bodies({
  bodyBytes,
  bufferedBytes,
}: {
  readonly bodyBytes: number
  readonly bufferedBytes: number
}): Bodies {
  let held = 0
  const read = (request: IncomingMessage): Promise<ReadBody | BodyRefusal> => {
    const declared = Number(request.headers['content-length'] ?? 0)
    if (declared > bodyBytes) return Promise.resolve('body-too-large')
    if (held + declared > bufferedBytes) return Promise.resolve('overloaded')
    return new Promise((resolve) => {
      const parts: Buffer[] = []
      let size = 0
      const release = (): void => {
        held -= size
        size = 0
      }
      const end = (result: ReadBody | BodyRefusal): void => {
        request.off('data', take).off('end', finish).off('error', fail).off('close', fail)
        if (typeof result === 'string') release()
        resolve(result)
      }
      const take = (part: Buffer): void => {
        size += part.length
        held += part.length
        parts.push(part)
        if (size > bodyBytes || held > bufferedBytes) {
          request.pause()
          parts.length = 0
          end(size > bodyBytes ? 'body-too-large' : 'overloaded')
        }
      }
      const finish = (): void => end({ bytes: Buffer.concat(parts), release })
      const fail = (): void => end('bad-request')
      request.on('data', take).once('end', finish).once('error', fail).once('close', fail)
    })
  }
  return { read, held: () => held }
}
