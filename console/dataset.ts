/** The dataset of a form, whose names of claims are those of a configuration. */

/** A claim as it was filled in. */
interface FilledClaim {
  readonly path: readonly string[]
  readonly text: string
}

/** Makes the dataset of the claims, each at its path; empty ones are left out. */
export function datasetOf(claims: readonly FilledClaim[]): Record<string, unknown> {
  const dataset = makeEmptyObject()
  for (const { path, text } of claims) {
    if (text === '') continue
    let inside = dataset
    for (const part of path.slice(0, -1)) {
      inside[part] ??= makeEmptyObject()
      inside = inside[part] as Record<string, unknown>
    }
    inside[path.at(-1) ?? ''] = text
  }
  return dataset
}

/** Makes an object that inherits nothing: a claim may be called `__proto__` or `constructor`. */
export function makeEmptyObject(): Record<string, unknown> {
  return Object.create(null) as Record<string, unknown>
}
