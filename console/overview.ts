/** The first page: whether all is well, what ends and what waits, and what became of the sessions of a day. */
import { type ClientName, isReady, type ShownEngine } from './clients.ts'
import {
  type Concern,
  countText,
  daysText,
  daysUntil,
  findConcerns,
  findEngineConcerns,
  isEngineWell,
  type Overview,
  SOON_DAYS,
} from './concerns.ts'
import { drawError, drawTerms, drawTime, element, introduction, localTime, type Term } from './dom.ts'
import { askEngines } from './engine-data.ts'
import { drawHours } from './hours-chart.ts'
import type { ShowPage } from './page.ts'
import { keepFresh, updateChildren } from './refresh.ts'
import { clientOf } from './service-sections.ts'
import { makeStateLink } from './session.ts'

/** The certificates and anchors that the page has for each kind. */
const MAX_ENDS = 5
const SEE = { callbacks: 'See the callbacks', trust: 'See the trust anchors', engines: 'See the engines' } as const

const FRESH_MS = 15_000

/** A part of the page, with the concerns that it adds to the verdict. */
interface OverviewPart {
  readonly drawn: readonly Node[]
  readonly concerns: readonly Concern[]
}

/** A part and where it is drawn. */
interface PlacedPart {
  readonly place: HTMLElement
  readonly readPart: () => Promise<OverviewPart>
}

export const showOverview: ShowPage = async (main, { services, signal }) => {
  main.append(introduction('Overview', 'Whether all is well, and what became of the sessions of the last 24 hours.'))
  const verdict = element('div', { class: 'overall', role: 'status' })
  main.append(verdict)
  const parts = [
    ...(['issuer', 'verifier'] as const)
      .filter((name) => services[name] !== undefined)
      .map((name) => placeService(main, name, services[name]?.url ?? '')),
    ...(services.engines.length === 0 ? [] : [placeEngines(main, services.engines)]),
  ]
  const draw = async (): Promise<void> => {
    const concerns = await Promise.all(
      parts.map(async ({ place, readPart }) => {
        const part = await readPart()
        updateChildren(place, element('div', {}, ...part.drawn))
        return part.concerns
      }),
    )
    updateChildren(verdict, element('div', {}, ...drawVerdict(concerns.flat())))
  }
  await draw()
  keepFresh(draw, FRESH_MS, signal)
}

function placePart(main: HTMLElement, id: string, title: string, note: string): HTMLElement {
  const place = element('div', {}, element('p', { class: 'quiet' }, note))
  main.append(element('section', { class: 'card', id }, element('h2', {}, title), place))
  return place
}

function placeService(main: HTMLElement, name: ClientName, url: string): PlacedPart {
  const place = placePart(main, name, name === 'issuer' ? 'Issuer' : 'Verifier', 'Asking the service …')
  const readPart = async (): Promise<OverviewPart> => {
    // A service that is down is told at once, before requests to it are tried again.
    const ready = await isReady(name)
    if (!ready) place.firstElementChild?.replaceWith(drawReadiness(false, url))
    try {
      const overview = await clientOf(name).getOverview()
      const drawn = [drawReadiness(overview.ready, url), ...drawOverview(name, overview)]
      return { drawn, concerns: findConcerns(name, overview) }
    } catch (error) {
      const text = `The ${name} gives no overview: ${(error as Error).message}`
      return { drawn: [drawReadiness(ready, url), drawError(error)], concerns: [{ look: 'bad', text }] }
    }
  }
  return { place, readPart }
}

function placeEngines(main: HTMLElement, engines: readonly ShownEngine[]): PlacedPart {
  const place = placePart(main, 'engines', 'Engines', 'Asking the engines …')
  const readPart = async (): Promise<OverviewPart> => {
    const all = await askEngines(engines)
    const items = all.map((each) => element('li', {}, drawReadiness(isEngineWell(each), each.engine.url)))
    const link = element('p', {}, element('a', { href: '#/engines' }, 'See their contracts'))
    return { drawn: [element('ul', { class: 'plain' }, ...items), link], concerns: all.flatMap(findEngineConcerns) }
  }
  return { place, readPart }
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

function drawOverview(name: ClientName, overview: Overview): readonly HTMLElement[] {
  const { at, certificates, callbacks, sessions } = overview
  const ends = certificates.map((each) => ({ ...each, what: each.key }))
  const facts: readonly Term[] = [
    ['Certificates', drawEnds(ends, at)],
    'status_lists' in overview ? ['Status lists', listText(overview.status_lists)] : anchorFacts(overview),
    ['Callbacks', callbackText(callbacks), ' ', element('a', { href: '#/callbacks' }, 'See them')],
    [name === 'issuer' ? 'Last issued' : 'Last verified', lastSuccess(overview)],
  ]
  const note = sessions.is_complete ? '' : ` Only the newest ${sessions.looked_at} were counted.`
  return [
    drawTerms('facts', facts),
    ...(sessions.looked_at === 0
      ? [element('p', {}, 'No session was started in the last 24 hours.')]
      : [
          hoursOf('Sessions of the last 24 hours', sessions, 'states', (status) => makeStateLink(name, status)),
          hoursOf('What went wrong in them', sessions, 'problems', (word) => word),
          element('p', {}, element('a', { href: `#/sessions/${name}` }, `See the sessions of the ${name}`)),
        ]),
    element('p', { class: 'quiet' }, `As of ${localTime(at)}.${note}`),
  ]
}

function hoursOf(
  caption: string,
  { hours }: Overview['sessions'],
  member: 'states' | 'problems',
  drawName: (name: string) => Node | string,
): HTMLElement {
  const countedHours = hours.map(({ from, [member]: counts }) => ({ from, counts }))
  const isEmpty = countedHours.every(({ counts }) => Object.keys(counts).length === 0)
  return isEmpty ? element('p', {}, `${caption}: nothing.`) : drawHours(caption, countedHours, drawName)
}

interface End {
  readonly what: string
  readonly subject: string
  readonly not_after: number
}

/** Lists certificates with the days that each has left, the first to end first. */
function drawEnds(ends: readonly End[], now: number): HTMLElement {
  const sortedEnds = ends.toSorted((one, other) => one.not_after - other.not_after)
  const items = sortedEnds.slice(0, MAX_ENDS).map(({ what, subject, not_after: end }) => {
    const days = daysUntil(end, now)
    const look = days < 0 ? 'bad' : days < SOON_DAYS ? 'warning' : undefined
    const endText = element('span', { class: look }, days < 0 ? 'ended' : `ends ${daysText(days)}`)
    return element('li', {}, [what, subject].filter(Boolean).join(': '), ', ', endText, ' (', drawTime(end), ')')
  })
  return element('ul', { class: 'plain' }, ...items)
}

function listText({ ttl_seconds: ttl, current }: IssuerLists): string {
  const delayText = `A verifier may keep a list for ${ttl} seconds; a revocation is seen after that.`
  const lists = current.map(
    ({ entries, given_out: taken }) => `${taken.toLocaleString()} of ${entries.toLocaleString()} entries are reserved`,
  )
  return lists.length === 0 ? delayText : `${lists.join('; ')}. ${delayText}`
}

type IssuerLists = Extract<Overview, { status_lists: unknown }>['status_lists']
type VerifierOverview = Exclude<Overview, { status_lists: unknown }>

function anchorFacts({ at, trust_anchors: anchors }: VerifierOverview): Term {
  const link = element('a', { href: '#/trust' }, 'See them, and test a certificate')
  if (anchors === undefined) return ['Trust anchors', 'None: every certificate will do. ', link]
  const ends = drawEnds(
    anchors.ending_first.map((each) => ({ ...each, what: '' })),
    at,
  )
  return ['Trust anchors', `${anchors.count} in all. `, link, ends]
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
