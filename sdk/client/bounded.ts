/** The body of an answer, and no more of it than was wanted. */
import { concatBytes } from '@noble/hashes/utils.js'

/**
 * Reads a body; undefined when it is longer than `maxBytes`, and then nothing more is read. Rejects when `signal` ends
 * it.
 */
export async function readBounded(
  response: Response,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = (response.body as ReadableStream<Uint8Array> | null)?.getReader()
  if (reader === undefined) return new Uint8Array()
  const stop = (): void => void reader.cancel().catch(() => undefined)
  signal.addEventListener('abort', stop, { once: true })
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      length += part.value.length
      if (length > maxBytes) {
        stop()
        return undefined
      }
      chunks.push(part.value)
    }
    // A reader that was cancelled says that it is done.
    signal.throwIfAborted()
  } finally {
    signal.removeEventListener('abort', stop)
  }
  return concatBytes(...chunks)
}
