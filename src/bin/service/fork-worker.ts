/** Starts the process of a worker by `node:cluster`, and mends what that leaves to its caller. */
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { readFileSync, realpathSync } from 'node:fs'

/** Says that the file which a worker would run is not the one that this process runs. */
const OTHER_PROGRAM = 'another version of this program was installed in its place: restart the service'

/**
 * Lets all workers run the command of this process. A link to the command may lead to another release by the time a
 * worker is replaced. Returns the function that returns why none can follow, where the command itself was replaced.
 */
export function keepCommand(): () => string | undefined {
  const command = realpathSync(process.argv[1] ?? '')
  cluster.setupPrimary({ exec: command })
  const program = readProgram(command)
  return () => (readProgram(command) === program ? undefined : OTHER_PROGRAM)
}

/** Returns the program, which names all its parts with their hashes; undefined if it is not there. */
function readProgram(command: string): string | undefined {
  try {
    return readFileSync(command, 'utf8')
  } catch {
    return undefined
  }
}

/** Starts a process. Rejects if the system starts none, as when memory, processes or open files are at a limit. */
export async function forkWorker(): Promise<Worker> {
  // Node throws the error, or emits it, which depends on its code.
  const worker = cluster.fork()
  if (worker.process.pid === undefined) {
    const [error] = (await once(worker, 'error')) as [Error]
    throw error
  }
  closeLastConnection(worker)
  return worker
}

/**
 * Closes the last connection that an ended worker was sent. `node:cluster` keeps a connection that the worker did not
 * confirm, and its client would wait.
 */
function closeLastConnection({ process: child }: Worker): void {
  let lastHandle: { close(): void } | undefined
  const send = child.send.bind(child) as (...words: unknown[]) => boolean
  child.send = (message: unknown, handle?: unknown, ...rest: unknown[]) => {
    if (typeof handle === 'object' && handle !== null && 'close' in handle) lastHandle = handle as typeof lastHandle
    return send(message, handle, ...rest)
  }
  child.once('exit', () => lastHandle?.close())
}
