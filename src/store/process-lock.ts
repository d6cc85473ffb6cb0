/** An exclusive lock of one process on a database. The lock ends with the process, also when the process is killed. */
export interface ProcessLock {
  /** Checks the lock, and takes it again when it was lost with its connection. Rejects when another process has it. */
  readonly keep: () => Promise<void>
  readonly release: () => Promise<void>
}
