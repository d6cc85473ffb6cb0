/** What another server publishes, kept for a while: neither many who ask at once nor its absence cost a request each. */

export interface Published<T> {
  /** The value, fetched again when it is old or not `isEnough`. Rejects as `load` does, where there is none to fall back on. */
  get(isEnough?: (value: T) => boolean): Promise<T>
}

/** Milliseconds, for how long. */
export interface Keeping {
  /** It is taken without asking again. */
  readonly fresh: number
  /** It is still taken when it cannot be had again. */
  readonly usable: number
  /** Nobody asks again, whatever came of it. */
  readonly pause: number
}

/** `onFailure` is told when an old value serves in the place of one that could not be fetched. */
export function published<T>(
  { fresh, usable, pause }: Keeping,
  now: () => Date,
  load: () => Promise<T>,
  onFailure: (error: unknown) => void,
): Published<T> {
  let current: { readonly value: T; readonly since: number } | undefined
  let last: { readonly at: number; readonly done: Promise<unknown> } | undefined
  const age = (): number => now().getTime() - (current?.since ?? Number.NEGATIVE_INFINITY)

  const refresh = async (): Promise<void> => {
    const at = now().getTime()
    const done = load().then((value) => {
      current = { value, since: at }
    })
    last = { at, done }
    // Whoever waits for it hears of the failure; so do those who ask during the pause.
    await done
  }
  return {
    get: async (isEnough = () => true) => {
      if (current !== undefined && age() < fresh && isEnough(current.value)) return current.value
      const mayAsk = last === undefined || now().getTime() - last.at >= pause
      try {
        await (mayAsk ? refresh() : last?.done)
      } catch (error) {
        if (current === undefined || age() >= usable) throw error
        if (mayAsk) onFailure(error)
      }
      return (current as { readonly value: T }).value
    },
  }
}
