/** A value that is costly to make, kept for a while: many who ask at once, or again, cost no more than one. */

export interface Kept<T> {
  get(): Promise<T>
  /** It has changed, and we know. */
  forget(): void
}

/** What `make` gives, made anew when it is older than `milliseconds`. A failure is not kept. */
export function kept<T>(milliseconds: number, now: () => Date, make: () => Promise<T>): Kept<T> {
  let current: { readonly value: Promise<T>; readonly at: number } | undefined
  const remake = (): Promise<T> => {
    const value = make()
    const made = { value, at: now().getTime() }
    current = made
    value.catch(() => {
      if (current === made) current = undefined
    })
    return value
  }
  // A clock that was set back says that it was made later than now.
  const isFresh = (age: number): boolean => age >= 0 && age < milliseconds
  return {
    get: () => (current !== undefined && isFresh(now().getTime() - current.at) ? current.value : remake()),
    forget: () => {
      current = undefined
    },
  }
}
