/** The first page: whether the services are well, and what became of the latest sessions. */
import type { ShowPage } from './app.ts'
import { isReady, issuerClient, type ServiceName, verifierClient } from './clients.ts'
import { element, introduction } from './dom.ts'

/** The most sessions that the page counts. */
const LATEST = 200

export const showOverview: ShowPage = async (main, { services, signal }) => {
  main.append(introduction('Overview', 'Whether the services are well, and what became of their latest sessions.'))
  for (const name of ['issuer', 'verifier'] as const) {
    const service = services[name]
    if (service === undefined) continue
    const ready = await isReady(name)
    const counts = await countSessions(name)
    if (signal.aborted) return
    main.append(
      element(
        'section',
        { class: 'card' },
        element('h2', {}, name === 'issuer' ? 'Issuer' : 'Verifier'),
        element(
          'p',
          {},
          element('span', { class: ready ? 'state good' : 'state bad' }, ready ? 'ready' : 'not ready'),
          ` ${service.url}`,
        ),
        counts.states.size === 0
          ? element('p', {}, 'There are no sessions yet.')
          : bars('Latest sessions', counts.states),
        counts.checks.size > 0 && bars('Checks that failed', counts.checks),
      ),
    )
  }
}

interface Counts {
  readonly states: ReadonlyMap<string, number>
  readonly checks: ReadonlyMap<string, number>
}

async function countSessions(name: ServiceName): Promise<Counts> {
  const [states, checks] = [new Map<string, number>(), new Map<string, number>()]
  const sessions = name === 'issuer' ? issuerClient.listSessions() : verifierClient.listSessions()
  let left = LATEST
  for await (const session of sessions) {
    states.set(session.status, (states.get(session.status) ?? 0) + 1)
    if ('failed_checks' in session) {
      for (const check of session.failed_checks ?? []) checks.set(check, (checks.get(check) ?? 0) + 1)
    }
    left -= 1
    if (left === 0) break
  }
  return { states, checks }
}

/** A small chart, which is a table for those who do not see it. */
function bars(caption: string, counts: ReadonlyMap<string, number>): HTMLElement {
  const most = Math.max(...counts.values())
  const rows = [...counts].map(([label, count]) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, label),
      element('td', {}, String(count)),
      element('td', { 'aria-hidden': 'true' }, element('meter', { min: '0', max: String(most), value: String(count) })),
    ),
  )
  return element('table', { class: 'bars' }, element('caption', {}, caption), ...rows)
}
