/** The first page: whether all is well, what ends and what waits, and what became of the sessions of a day. */
import type { ShowPage } from './app.ts'
import { isReady, type ServiceName } from './clients.ts'
import { type Concern, countText, daysText, daysUntil, findConcerns, type Overview } from './concerns.ts'
import { drawTime, element, introduction, localTime } from './dom.ts'
import { drawHours } from './hours-chart.ts'
import { clientOf, drawServiceSections } from './service-sections.ts'
import { drawState } from './session.ts'

/** The certificates and anchors that the page has for each kind. */
const MOST_ENDS = 5
const SEE = { callbacks: 'See the callbacks', trust: 'See the trust anchors' } as const

export const showOverview: ShowPage = async (main, { services }) => {
  main.append(introduction('Overview', 'Whether all is well, and what became of the sessions of the last 24 hours.'))
  const verdict = element('div', { class: 'overall', role: 'status' })
  main.append(verdict)
  const concerns: Concern[] = []
  await drawServiceSections(main, services, async (place, name) => {
    // A service that is down is told at once, before requests to it are tried again.
    if (!(await isReady(name))) place.prepend(drawReadiness(false, services[name]?.url ?? ''))
    const overview = await clientOf(name)
      .getOverview()
      .catch((error: unknown) => {
        const text = `The ${name} gives no overview: ${(error as Error).message}`
        concerns.push({ look: 'bad', text })
        throw error
      })
    concerns.push(...findConcerns(name, overview))
    place.replaceChildren(drawReadiness(overview.ready, services[name]?.url ?? ''), ...drawOverview(name, overview))
  })
  verdict.append(...drawVerdict(concerns))
}

function drawVerdict(concerns: readonly Concern[]): readonly HTMLElement[] {
  if (concerns.length === 0) return [element('p', { class: 'good' }, element('strong', {}, 'Everything is well.'))]
  const items = concerns.map(({ text, look, page }) =>
    element(
      'li',
      { class: look },
      text,
      ...(page === undefined ? [] : [' ', element('a', { href: `#/${page}` }, SEE[page])]),
    ),
  )
  return [element('strong', {}, 'To look at:'), element('ul', {}, ...items)]
}

function drawReadiness(ready: boolean, url: string): HTMLElement {
  const state = element('span', { class: ready ? 'state good' : 'state bad' }, ready ? 'ready' : 'not ready')
  return element('p', {}, state, ` ${url}`)
}

function drawOverview(name: ServiceName, overview: Overview): readonly HTMLElement[] {
  const { at, certificates, callbacks, sessions } = overview
  const facts: readonly (readonly [string, readonly (Node | string)[]])[] = [
    [
      'Certificates',
      [
        drawEnds(
          certificates.map((each) => ({ ...each, what: each.key })),
          at,
        ),
      ],
    ],
    ...('status_lists' in overview ? listFacts(overview.status_lists) : anchorFacts(overview)),
    ['Callbacks', [callbackText(callbacks), ' ', element('a', { href: '#/callbacks' }, 'See them')]],
    [name === 'issuer' ? 'Last issued' : 'Last verified', [lastSuccess(overview)]],
  ]
  const note = sessions.is_complete ? '' : ` Only the newest ${sessions.looked_at} were counted.`
  return [
    element('dl', { class: 'facts' }, ...facts.flatMap(([term, words]) => fact(term, words))),
    ...(sessions.looked_at === 0
      ? [element('p', {}, 'No session was started in the last 24 hours.')]
      : [
          hoursOf('Sessions of the last 24 hours', sessions, 'states', drawState),
          hoursOf('What went wrong in them', sessions, 'problems', (word) => word),
        ]),
    element('p', { class: 'quiet' }, `As of ${localTime(at)}.${note}`),
  ]
}

function fact(term: string, words: readonly (Node | string)[]): readonly HTMLElement[] {
  return [element('dt', {}, term), element('dd', {}, ...words)]
}

function hoursOf(
  caption: string,
  { hours }: Overview['sessions'],
  member: 'states' | 'problems',
  drawName: (name: string) => Node | string,
): HTMLElement {
  const counted = hours.map(({ from, [member]: counts }) => ({ from, counts }))
  const isEmpty = counted.every(({ counts }) => Object.keys(counts).length === 0)
  return isEmpty ? element('p', {}, `${caption}: nothing.`) : drawHours(caption, counted, drawName)
}

interface End {
  readonly what: string
  readonly subject: string
  readonly not_after: number
}

/** Lists certificates with the days that each has left, the first to end first. */
function drawEnds(ends: readonly End[], now: number): HTMLElement {
  const sorted = ends.toSorted((one, other) => one.not_after - other.not_after)
  const items = sorted.slice(0, MOST_ENDS).map(({ what, subject, not_after: end }) => {
    const days = daysUntil(end, now)
    const look = days < 0 ? 'bad' : days < 30 ? 'warning' : undefined
    const left = element('span', { class: look }, days < 0 ? 'ended' : `ends ${daysText(days)}`)
    return element('li', {}, [what, subject].filter(Boolean).join(': '), ', ', left, ' (', drawTime(end), ')')
  })
  return element('ul', { class: 'plain' }, ...items)
}

function listFacts({ ttl_seconds: ttl, current }: IssuerLists): readonly (readonly [string, readonly string[]])[] {
  const seen = `A verifier may keep a list for ${ttl} seconds; a revocation is seen after that.`
  const lists = current.map(
    ({ entries, given_out: taken }) => `${taken.toLocaleString()} of ${entries.toLocaleString()} entries are given out`,
  )
  return [['Status lists', [lists.length === 0 ? seen : `${lists.join('; ')}. ${seen}`]]]
}

type IssuerLists = Extract<Overview, { status_lists: unknown }>['status_lists']
type VerifierOverview = Exclude<Overview, { status_lists: unknown }>

function anchorFacts({ at, trust_anchors: anchors }: VerifierOverview) {
  const link = element('a', { href: '#/trust' }, 'See them, and test a certificate')
  if (anchors === undefined) return [['Trust anchors', ['None: every certificate will do. ', link]] as const]
  const ends = drawEnds(
    anchors.ending_first.map((each) => ({ ...each, what: '' })),
    at,
  )
  return [['Trust anchors', [`${anchors.count}. `, link, ends]] as const]
}

function callbackText({ configured, waiting, dead, oldest_waiting_at: oldest }: Overview['callbacks']): string {
  if (!configured && waiting === 0 && dead === 0) return 'None are configured (sessionCallback).'
  const since = oldest === undefined ? '' : ` (the oldest since ${localTime(oldest)})`
  return `Waiting: ${countText(waiting)}${since}. Given up: ${countText(dead)}.`
}

function lastSuccess({ last_success: last }: Overview): Node | string {
  const at = 'verified_at' in last ? last.verified_at : 'credential_issued_at' in last && last.credential_issued_at
  return typeof at === 'number' ? drawTime(at) : 'Not within the sessions that were counted.'
}
