/**
 * The log: one JSON line per event, on stdout or in a file. Callers must not pass secrets; redaction is a second
 * measure. If stdout is a pipe or a socket, a slow reader must not block the service: lines are buffered, and dropped
 * and counted when the buffer is full.
 */
import { fstatSync, openSync, writeSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { isatty } from 'node:tty'
import { type DestinationStream, type Logger, pino } from 'pino'
import type { LogExtension } from '../telemetry/telemetry.ts'

const STDOUT = 1
/** The maximum size of the buffer. */
const MAX_WAITING = 1024 * 1024

/** The number of lines that were not written. */
export interface LogCounts {
  dropped: number
}

/** The numbers of this process, for its metrics. */
export const logCounts: LogCounts = { dropped: 0 }

export interface LogOptions {
  /** The log file; stdout when absent. */
  readonly file?: string
  /** The number of the worker process; absent without workers. */
  readonly worker?: number | undefined
  /** Adds the trace to each line, and sends a copy to the collector. */
  readonly extension?: LogExtension
}

/** Creates the log of a service. */
export function createLog(service: string, { file, worker, extension }: LogOptions = {}): Logger {
  const options = {
    base: { service, ...(worker !== undefined && { worker }) },
    messageKey: 'message',
    timestamp: pino.stdTimeFunctions.isoTime,
    ...(extension && { mixin: extension.getTraceMembers }),
    redact: ['*.authorization', '*.password', '*.token', '*.credential', '*.vp_token', '*.claims'],
  }
  if (file !== undefined) return pino(options, copyLines(createLineWriter(openSync(file, 'a')), extension))
  if (!hasReader(STDOUT)) return pino(options, copyLines(createLineWriter(STDOUT), extension))
  const lines = createReaderLines(process.stdout)
  const log = pino(options, copyLines(lines, extension))
  const text = 'lines of the log were dropped, because the reader of stdout did not keep up'
  lines.onLinesDropped((count) => log.warn({ event: 'log_lines_dropped', count }, text))
  return log
}

/** A stream that `flush` of a log waits for, if it has something to wait for. */
interface FlushedStream extends DestinationStream {
  readonly flush?: (done: () => void) => void
}

/** Makes a stream that also sends each line to the collector, if there is an extension. */
function copyLines(lines: DestinationStream, extension: LogExtension | undefined): FlushedStream {
  if (extension === undefined) return lines
  return {
    write: (line) => {
      lines.write(line)
      extension.copyLine(line)
    },
    flush: (done) => void extension.flush().then(() => done()),
  }
}

/** Resolves when the lines of a log are written and sent, after which the process may end. Later lines are not sent. */
export async function flushLog(log: Logger): Promise<void> {
  await Promise.all([waitUntilWritten(), new Promise<void>((resolve) => log.flush(() => resolve()))])
  // A failure to send is a line as well.
  await waitUntilWritten()
}

/** Resolves when everything written to `output` has been accepted, or nothing reads it any more. */
export function waitUntilWritten(output: Writable = process.stdout): Promise<void> {
  return new Promise((resolve) => {
    output.once('error', () => resolve())
    // The callback of an empty write is called after all writes before it; `drain` is not always emitted.
    output.write('', () => resolve())
  })
}

/** Tests whether the output is a pipe, a socket or a terminal. */
function hasReader(descriptor: number): boolean {
  const stat = fstatSync(descriptor)
  return stat.isFIFO() || stat.isSocket() || isatty(descriptor)
}

/** Makes a stream that writes lines to a file. A line that cannot be written is lost. */
function createLineWriter(descriptor: number): DestinationStream {
  return {
    write: (line) => {
      try {
        writeSync(descriptor, line)
      } catch {
        // The metrics count this failure, since it cannot be logged.
        logCounts.dropped += 1
      }
    },
  }
}

interface ReaderLines extends DestinationStream {
  /** Calls `report` with the number of dropped lines when lines are accepted again. */
  readonly onLinesDropped: (report: (count: number) => void) => void
}

/** Makes a stream that writes lines to a pipe or terminal without waiting for the reader. */
export function createReaderLines(reader: Writable): ReaderLines {
  let dropped = 0
  // The reader may close the pipe.
  reader.on('error', () => undefined)
  // Workers share one pipe, in which only the bytes of a single write stay together, so buffered lines are written
  // separately.
  Object.assign(reader, { _writev: undefined })
  const countLost = (error?: Error | null): void => {
    if (error) logCounts.dropped += 1
  }
  return {
    write: (line) => {
      if (reader.writableLength + line.length <= MAX_WAITING) {
        reader.write(line, countLost)
        return
      }
      dropped += 1
      logCounts.dropped += 1
    },
    onLinesDropped: (report) => {
      reader.on('drain', () => {
        const count = dropped
        dropped = 0
        if (count > 0) report(count)
      })
    },
  }
}
