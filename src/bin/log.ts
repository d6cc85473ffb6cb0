/**
 * The log: one JSON line per event, on stdout or in a file. Callers pass nothing that must not be logged; redaction
 * comes second. Where stdout is a pipe or a socket its reader may stand still, and must not stop the service: lines
 * wait in a buffer, and those that do not fit are counted and dropped.
 */
import { fstatSync, openSync, writeSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { isatty } from 'node:tty'
import { type DestinationStream, type Logger, pino } from 'pino'
import type { LogExtension } from '../telemetry/telemetry.ts'

const STDOUT = 1
/** The most bytes that may wait for the reader of the log. */
const MAX_WAITING = 1024 * 1024

/** The number of lines that were not written. */
export interface LogCounts {
  dropped: number
}

/** The counts of this process, for its metrics. */
export const logCounts: LogCounts = { dropped: 0 }

export interface LogOptions {
  /** The file that the lines go to; stdout when absent. */
  readonly file?: string
  /** The number of the worker process that logs; absent in a process that has no others beside it. */
  readonly worker?: number | undefined
  /** The trace in each line, and a copy of the line for a collector. */
  readonly extension?: LogExtension
}

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

/** Makes a stream that also copies each line to the collector, where the log has an extension. */
function copyLines(lines: DestinationStream, extension: LogExtension | undefined): DestinationStream {
  if (extension === undefined) return lines
  return {
    write: (line) => {
      lines.write(line)
      extension.copyLine(line)
    },
  }
}

/** Resolves when everything that was written to `output` has been taken, or when nothing reads it any more. */
export function waitUntilWritten(output: Writable = process.stdout): Promise<void> {
  return new Promise((resolve) => {
    output.once('error', () => resolve())
    // The callback of an empty text comes after those of all texts before it; `drain` comes only where much has waited.
    output.write('', () => resolve())
  })
}

/** Tests whether somebody reads the log as it is written: through a pipe, a socket, or at a terminal. */
function hasReader(descriptor: number): boolean {
  const stat = fstatSync(descriptor)
  return stat.isFIFO() || stat.isSocket() || isatty(descriptor)
}

/**
 * Makes a stream that writes lines to a file. A line that cannot be written, as on a full disk, is lost; the service
 * goes on.
 */
function createLineWriter(descriptor: number): DestinationStream {
  return {
    write: (line) => {
      try {
        writeSync(descriptor, line)
      } catch {
        // A failure of the log cannot be logged; the metrics count it.
        logCounts.dropped += 1
      }
    },
  }
}

interface ReaderLines extends DestinationStream {
  /** Calls `report` with the number of dropped lines when lines flow again. */
  readonly onLinesDropped: (report: (count: number) => void) => void
}

/**
 * Makes a stream that writes lines to a reader at once while there is room in the pipe, as Node does, and never waits.
 */
function createReaderLines(reader: NodeJS.WriteStream): ReaderLines {
  let dropped = 0
  // The reader may close the pipe.
  reader.on('error', () => undefined)
  // Workers write to one pipe, where only the bytes of one write stay together: waiting lines are not written as one.
  Object.assign(reader, { _writev: undefined })
  return {
    write: (line) => {
      if (reader.writableLength + line.length <= MAX_WAITING) {
        reader.write(line)
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
