/** The lock by which one process has a database for itself. It ends with the process, however that ends. */
export interface ProcessLock {
  /** Takes the lock again where it was lost with its connection. Rejects while another process has it. */
  readonly keep: () => Promise<void>
  readonly release: () => Promise<void>
}
