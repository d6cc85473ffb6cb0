/** One thing that `vouchsafe doctor` found. */
export interface Finding {
  /** The setting it is about. */
  readonly subject: string
  /** `problem`: the service cannot start, or nobody could use it. `note`: nothing to do about it. */
  readonly outcome: 'ok' | 'note' | 'warning' | 'problem'
  readonly text: string
}
