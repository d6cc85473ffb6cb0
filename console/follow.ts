/** Follows a session by its stream of events, for as long as somebody looks at the page. */

/** Yields what `watch` does, but not while the page is hidden: a browser has few connections for all of its tabs. */
export async function* followVisibly<Session>(
  watch: (options: { readonly signal: AbortSignal }) => AsyncGenerator<Session, void>,
  signal: AbortSignal,
): AsyncGenerator<Session, void> {
  for (;;) {
    await waitUntilVisible(signal)
    const hiddenSignal = new AbortController()
    const hide = (): void => {
      if (document.hidden) hiddenSignal.abort()
    }
    document.addEventListener('visibilitychange', hide)
    try {
      yield* watch({ signal: AbortSignal.any([signal, hiddenSignal.signal]) })
      return
    } catch (error) {
      if (signal.aborted || !hiddenSignal.signal.aborted) throw error
    } finally {
      document.removeEventListener('visibilitychange', hide)
    }
  }
}

/** Waits until the page can be seen. Rejects when the signal is aborted. */
async function waitUntilVisible(signal: AbortSignal): Promise<void> {
  if (document.hidden) {
    await new Promise((resolve) => {
      document.addEventListener('visibilitychange', resolve, { once: true, signal })
      signal.addEventListener('abort', resolve, { once: true })
    })
  }
  signal.throwIfAborted()
}
