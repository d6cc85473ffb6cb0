/**
 * What a service does by itself while it runs: it sweeps up what has expired, and delivers what waits to be delivered.
 */
export interface Task {
  /** For the log. */
  readonly name: string
  readonly everyMs: number
  /**
   * One round. It may reject: the next comes all the same, and begins only after this has ended. A long one ends early
   * when `stop` is given.
   */
  readonly run: (stop?: AbortSignal) => Promise<void>
  /** Whether there is a last round when the service stops. */
  readonly atStop?: boolean
}
