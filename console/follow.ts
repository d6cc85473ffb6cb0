/** Follows a session by its stream of events, for as long as somebody looks at the page. */

/** Yields what `watch` does, but not while the page is hidden: a browser has few connections for all of its tabs. */
export async function* followVisibly<Session>(
  watch: (options: { readonly signal: AbortSignal }) => AsyncGenerator<Session, void>,
  signal: AbortSignal,
): AsyncGenerator<Session, void> {
  for (;;) {
    await visible(signal)
    const hidden = new AbortController()
    const hide = (): void => {
      if (document.hidden) hidden.abort()
    }
    document.addEventListener('visibilitychange', hide)
    try {
      yield* watch({ signal: AbortSignal.any([signal, hidden.signal]) })
      return
    } catch (error) {
      if (signal.aborted || !hidden.signal.aborted) throw error
    } finally {
      document.removeEventListener('visibilitychange', hide)
    }
  }
}

/** Waits until the page can be seen. Rejects when the signal is aborted. */
async function visible(signal: AbortSignal): Promise<void> {
  if (document.hidden) {
    await new Promise((resolve) => {
      document.addEventListener('visibilitychange', resolve, { once: true, signal })
      signal.addEventListener('abort', resolve, { once: true })
    })
  }
  signal.throwIfAborted()
}
