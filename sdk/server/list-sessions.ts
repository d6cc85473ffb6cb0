/** Lists sessions, page by page behind one loop. */
import type { CallService } from './call-service.ts'

interface SessionPage<Session> {
  readonly sessions: readonly Session[]
  readonly next?: string
}

/** Yields the sessions that match the filter, the newest first. A page is read when the loop comes to it. */
export async function* listSessions<Session>(
  call: CallService,
  path: string,
  filter: Readonly<Record<string, string | undefined>>,
): AsyncGenerator<Session, void> {
  const query = new URLSearchParams({ limit: '100' })
  for (const [name, value] of Object.entries(filter)) if (value !== undefined) query.set(name, value)
  for (;;) {
    const page = (await call({
      method: 'GET',
      path: `${path}?${query.toString()}`,
      isRepeatable: true,
    })) as SessionPage<Session>
    yield* page.sessions
    if (page.next === undefined) return
    query.set('cursor', page.next)
  }
}
