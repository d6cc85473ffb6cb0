/** A finding of `vouchsafe doctor`. */
export interface Finding {
  /** The setting of the finding. */
  readonly subject: string
  /** `problem`: the service cannot start, or cannot be used. `note`: nothing needs to be done. */
  readonly outcome: 'ok' | 'note' | 'warning' | 'problem'
  readonly text: string
}
