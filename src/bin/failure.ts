/** The end of a command that failed: its message on stderr, or as JSON on stdout, and its exit status. */
import { UsageError } from './command-line.ts'
import { plainLines } from './terminal.ts'

interface FailureTerms {
  readonly json: boolean
  /** The exit status, unless the command line is wrong. */
  readonly status: 1 | 2
  /** The mark before the message for people. */
  readonly mark?: string
  /** The further members of the JSON. */
  readonly facts?: Readonly<Record<string, unknown>>
}

/** Reports the error, and sets the exit status. A wrong command line is told with the usage, and has status 2. */
export function reportFailure(error: unknown, { json, status, mark = '', facts = {} }: FailureTerms): void {
  const isUsage = error instanceof UsageError
  process.exitCode = isUsage ? 2 : status
  const { message } = error as Error
  if (json) {
    const output = { error: isUsage ? 'usage' : 'failed', message: isUsage ? error.why || message : message, ...facts }
    process.stdout.write(`${JSON.stringify(output)}\n`)
  } else {
    // The message may quote a contract, a node or an issuer.
    process.stderr.write(`${mark}${plainLines(message)}\n`)
  }
}
