/** A background task: periodic work of a service without a request, such as ending what has expired. */
export interface Task {
  /** The name of the task in the log. */
  readonly name: string
  readonly everyMs: number
  /**
   * Runs a round. A round that rejects does not stop the next, which begins only after this one has ended. A long
   * round ends early when `stop` is aborted, and ends nothing by the clock while `isClockHeld` returns true.
   */
  readonly run: (stop?: AbortSignal, isClockHeld?: () => boolean) => Promise<void>
  /** Whether there is a last round when the service stops. */
  readonly atStop?: boolean
  /** Whether all that a round does is to end or delete what is due, so that there is none while the clock is held. */
  readonly deletes?: boolean
}
