/** Lists entries, page by page behind one loop. */
import type { CallService } from './call-service.ts'

/** Yields the entries that match the filter, the newest first. A page is read when the loop comes to it. */
export async function* listPages<Entry>(
  call: CallService,
  path: string,
  member: 'sessions' | 'callbacks',
  filter: Readonly<Record<string, string | undefined>> = {},
): AsyncGenerator<Entry, void> {
  const query = new URLSearchParams({ limit: '100' })
  for (const [name, value] of Object.entries(filter)) if (value !== undefined) query.set(name, value)
  for (;;) {
    const page = (await call({ method: 'GET', path: `${path}?${query.toString()}`, isRepeatable: true })) as Readonly<
      Record<typeof member, readonly Entry[]>
    > & { readonly next?: string }
    yield* page[member]
    if (page.next === undefined) return
    query.set('cursor', page.next)
  }
}
