/** A background task: periodic work of a service without a request, such as ending what has expired. */
export interface Task {
  /** The name of the task in the log. */
  readonly name: string
  readonly everyMs: number
  /**
   * Runs a round. A round that rejects does not stop the next, which begins only after this one has ended. A long
   * round ends early when `stop` is aborted. `isClockDoubtful` tests whether the clock of the machine may have jumped
   * ahead (`bin/service/clock-watch.ts`): meanwhile nothing is ended, deleted or given up because its time has come.
   */
  readonly run: (stop?: AbortSignal, isClockDoubtful?: () => boolean) => Promise<void>
  /** Whether there is a last round when the service stops. */
  readonly atStop?: boolean
  /** Whether rounds are skipped while the clock is doubtful, since all that they do is to end or delete what is due. */
  readonly needsTrustedClock?: boolean
}
