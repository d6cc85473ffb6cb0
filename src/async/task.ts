/** A background task: periodic work of a service without a request, such as ending what has expired. */
export interface Task {
  /** The name of the task in the log. */
  readonly name: string
  readonly everyMs: number
  /**
   * Runs a round. A round that rejects does not stop the next, which begins only after this one has ended. A long
   * round ends early when `stop` is aborted.
   */
  readonly run: (stop?: AbortSignal) => Promise<void>
  /** Whether there is a last round when the service stops. */
  readonly atStop?: boolean
  /** Whether a round ends or deletes what is due by the clock, so that it has to wait while the clock may be wrong. */
  readonly deletes?: boolean
}
