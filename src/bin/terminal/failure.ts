/** The output of a failed command: its message on stderr, or JSON on stdout, and its exit status. */
import { UsageError } from './command-line.ts'
import { removeControlCharactersByLine } from './terminal.ts'

interface FailureOptions {
  readonly json: boolean
  /** The exit status, unless the command line is wrong. */
  readonly status: 1 | 2
  /** The prefix of the message for people. */
  readonly mark?: string
  /** Further members of the JSON. */
  readonly facts?: Readonly<Record<string, unknown>>
}

/** The output and the exit status of a command. */
export interface CommandOutput {
  readonly stdout: string | Uint8Array
  readonly stderr: string
  readonly status: number
}

/** Returns the output of a failed command. For a wrong command line, it has the usage and status 2. */
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
  // Only a message that names a problem has the mark.
  const prefix = isUsage && error.why === '' ? '' : mark
  // The message may contain text of a contract, a node or an issuer.
  return { stdout: '', stderr: `${prefix}${removeControlCharactersByLine(message)}\n`, status: exitStatus }
}

/** Reports the error, and sets the exit status. */
export function reportFailure(error: unknown, options: FailureOptions): void {
  const { stdout, stderr, status } = outputOfFailure(error, options)
  process.exitCode = status
  process.stdout.write(stdout)
  process.stderr.write(stderr)
}
