/** The findings of `vouchsafe doctor`. */

export interface Finding {
  /** The setting that the finding is about. */
  readonly subject: string
  /** With `problem`, the service cannot start or be used. With `note`, nothing needs to be done. */
  readonly outcome: 'ok' | 'note' | 'warning' | 'problem'
  readonly text: string
}

export function makeFinding(subject: string, outcome: Finding['outcome'], text: string): Finding {
  return { subject, outcome, text }
}

/** Makes a finding from a mistake or a warning, which begins with the path of its setting. */
export function findingOfMistake(outcome: 'warning' | 'problem', mistake: string): Finding {
  const [, subject = 'settings', text = mistake] = /^([^\s:]+): (.*)$/s.exec(mistake) ?? []
  return makeFinding(subject, outcome, text)
}

export function databaseFinding(outcome: Finding['outcome'], text: string): Finding {
  return makeFinding('database', outcome, text)
}

/** Removes repeated findings: certificate findings repeat some warnings of the configuration. */
export function removeRepetitions(findings: readonly Finding[]): Finding[] {
  const texts = findings.map(({ subject, text }) => `${subject}: ${text}`)
  return findings.filter((_, index) => texts.lastIndexOf(texts[index] ?? '') === index)
}
