/** The end of a command that failed: its message on stderr, or as JSON on stdout, and its exit status. */
import { UsageError } from './command-line.ts'
import { removeControlCharactersByLine } from './terminal.ts'

interface FailureOptions {
  readonly json: boolean
  /** The exit status, unless the command line is wrong. */
  readonly status: 1 | 2
  /** The mark before the message for people. */
  readonly mark?: string
  /** The further members of the JSON. */
  readonly facts?: Readonly<Record<string, unknown>>
}

/** The end of a command: its output, and its exit status. */
export interface CommandOutput {
  readonly stdout: string | Uint8Array
  readonly stderr: string
  readonly status: number
}

/** Returns the end of a command that failed. A wrong command line is told with the usage, and has status 2. */
export function outputOfFailure(
  error: unknown,
  { json, status, mark = '', facts = {} }: FailureOptions,
): CommandOutput {
  const isUsage = error instanceof UsageError
  const exitStatus = isUsage ? 2 : status
  const { message } = error as Error
  if (json) {
    const output = { error: isUsage ? 'usage' : 'failed', message: isUsage ? error.why || message : message, ...facts }
    return { stdout: `${JSON.stringify(output)}\n`, stderr: '', status: exitStatus }
  }
  // The message may quote a contract, a node or an issuer.
  return { stdout: '', stderr: `${mark}${removeControlCharactersByLine(message)}\n`, status: exitStatus }
}

/** Reports the error, and sets the exit status. */
export function reportFailure(error: unknown, options: FailureOptions): void {
  const { stdout, stderr, status } = outputOfFailure(error, options)
  process.exitCode = status
  process.stdout.write(stdout)
  process.stderr.write(stderr)
}
