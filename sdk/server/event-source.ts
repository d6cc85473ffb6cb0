/** Reads streams of server-sent events. HTML, section Server-sent events. */
import { ServiceError } from './service-error.ts'

export interface ServerEvent {
  readonly event: string
  readonly data: string
}

interface ReadLimits {
  /** Milliseconds without a byte after which the connection counts as broken. */
  readonly idleMilliseconds: number
  /** Is told for how many milliseconds the service wants a client to wait before it connects again. */
  readonly onRetry: (milliseconds: number) => void
}

/** The most characters of one event. */
const MAX_CHARACTERS = 16 * 1024 * 1024

/** Yields the events of a stream until it closes. Rejects with `unreachable` when nothing comes for too long. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  { idleMilliseconds, onRetry }: ReadLimits,
): AsyncGenerator<ServerEvent, void> {
  let event = ''
  let data = ''
  for await (const line of linesOf(body, idleMilliseconds)) {
    const [, name, value = ''] = /^(event|data|retry): ?(.*)$/s.exec(line) ?? []
    if (name === 'event') event = value
    if (name === 'data') data += data === '' ? value : `\n${value}`
    if (name === 'retry' && /^\d{1,6}$/.test(value)) onRetry(Number(value))
    if (data.length > MAX_CHARACTERS) refuseLarge()
    if (line !== '') continue
    if (data !== '') yield { event, data }
    event = ''
    data = ''
  }
}

async function* linesOf(body: ReadableStream<Uint8Array>, idleMilliseconds: number): AsyncGenerator<string, void> {
  const reader = body.getReader()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  let endsInReturn = false
  try {
    for (;;) {
      const part = await withTimeout(reader.read(), idleMilliseconds)
      if (part.done) return
      const text = decoder.decode(part.value, { stream: true })
      if (text === '') continue
      // The line feed of a CR LF may be in the next part, and the line is over before it comes.
      const lines = (rest + (endsInReturn ? text.replace(/^\n/, '') : text)).split(/\r\n|[\r\n]/)
      endsInReturn = text.endsWith('\r')
      rest = lines.pop() ?? ''
      if (rest.length > MAX_CHARACTERS) refuseLarge()
      yield* lines
    }
  } finally {
    // The connection is of no more use, also where the loop over the events was left.
    reader.cancel().catch(() => undefined)
  }
}

async function withTimeout<T>(reading: Promise<T>, milliseconds: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    const error = new ServiceError('unreachable', 'the service has sent nothing for too long')
    timer = setTimeout(() => reject(error), milliseconds)
  })
  try {
    return await Promise.race([reading, late])
  } finally {
    clearTimeout(timer)
  }
}

function refuseLarge(): never {
  throw new ServiceError('foreign_answer', 'an event is longer than any of Vouchsafe; is this the service?')
}
