/** The mistakes that readers of settings return in place of their results. Each begins with the path of the setting. */

interface Failure {
  readonly mistakes: readonly string[]
}

/** Returns the mistakes of all results. An absent result has none. */
export function mistakesOf(...results: readonly (object | undefined)[]): readonly string[] {
  return results.flatMap((result) => (result && 'mistakes' in result ? (result as Failure).mistakes : []))
}
