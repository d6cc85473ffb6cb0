/** The trust anchors of the verifier, and a test: which of them, if any, a certificate leads to. */
import type { VerifierSchemas } from '../sdk/server/index.ts'
import { verifierClient } from './clients.ts'
import { daysText, daysUntil } from './concerns.ts'
import { drawTerms, drawTime, element, field, hiddenProblem, introduction, showProblem } from './dom.ts'
import type { ShowPage } from './page.ts'
import { drawPagedTable } from './paged-table.ts'
import { drawChecks } from './report.ts'

type Anchor = VerifierSchemas['TrustAnchor']
type TrustList = VerifierSchemas['TrustList']
type Result = VerifierSchemas['ChainTestResult']

const OPEN =
  'No trust anchors are configured (issuerTrustAnchors, trustLists): anybody may have issued what is presented.'

export const showTrust: ShowPage = async (main, { services }) => {
  main.append(
    introduction('Trust anchors', 'Whose credentials the verifier accepts, and whether a certificate would do.'),
  )
  if (services.verifier === undefined) {
    main.append(element('p', {}, 'This console has no verifier: start it with --verifier URL.'))
    return
  }
  const place = element('div')
  main.append(
    element('section', { class: 'card' }, element('h2', {}, 'Test a certificate'), drawTest()),
    element('section', { class: 'card' }, element('h2', {}, 'The anchors'), place),
  )
  const { trust, anchors, trust_lists: lists } = await verifierClient.listTrustAnchors()
  if (trust === 'open') place.append(element('p', { class: 'warning' }, OPEN))
  else if (anchors.length > 0 || lists.length === 0) place.append(await drawAnchors(anchors))
  place.append(...lists.map(drawList))
}

function drawList({ url, certificates, next_update: end, problem }: TrustList): HTMLElement {
  const state = problem !== undefined && element('small', { class: 'bad' }, ` ${problem}`)
  const ends = end === undefined ? [] : [', ends ', drawEnd(end)]
  return element('p', {}, `${url}: ${certificates} certificates`, ...ends, state)
}

function drawAnchors(anchors: readonly Anchor[]): Promise<HTMLElement> {
  return drawPagedTable<Anchor>({
    caption: `As last read: ${anchors.length}`,
    heads: ['Name', 'File', 'Ends', 'SHA-256'],
    entries: anchors.values(),
    none: 'none; nothing is trusted.',
    cellsOf: ({ subject, file, not_after: end, problem, sha256 }) => [
      element('span', {}, subject, problem !== undefined && element('small', { class: 'bad' }, ` ${problem}`)),
      file,
      drawEnd(end),
      element('code', { class: 'long' }, sha256),
    ],
  })
}

function drawEnd(end: number): HTMLElement {
  const days = daysUntil(end, Date.now() / 1000)
  return element('span', {}, days < 0 ? 'ended' : daysText(days), ' (', drawTime(end), ')')
}

function drawTest(): HTMLElement {
  const text = element('textarea', { rows: '6', spellcheck: 'false', autocomplete: 'off' })
  const button = element('button', { type: 'submit' }, 'Test')
  const problem = hiddenProblem()
  const result = element('div', { role: 'status' })
  const test = async (): Promise<void> => {
    result.replaceChildren()
    result.append(...drawResult(await verifierClient.testChain(text.value)))
  }
  const onsubmit = (event: Event): void => {
    event.preventDefault()
    button.disabled = true
    problem.hidden = true
    test()
      .catch((error: unknown) => showProblem(problem, error))
      .finally(() => {
        button.disabled = false
        button.focus()
      })
  }
  const note =
    'The certificate of an issuer, from BEGIN CERTIFICATE to END CERTIFICATE, and those between it and an anchor below it.'
  return element('form', { onsubmit }, field('Certificate (PEM)', text, note), button, problem, result)
}

function drawResult(result: Result) {
  const { trusted, trust, checks, certificates, path, anchor, trust_list: listUrl, valid_until: until } = result
  const word = trusted ? (trust === 'open' ? 'accepted, as any would be' : 'trusted') : 'not trusted'
  const facts = [
    ['Certificate', certificates[0]?.subject],
    ['Signed by', certificates[0]?.issuer],
    ['Trust anchor', anchor === undefined ? undefined : `${anchor.subject} (${anchor.file})`],
    ['Trust list', listUrl],
    ['Path', path === undefined ? undefined : path.map(({ subject }) => subject).join(' → ')],
  ] as const
  return [
    element('p', {}, element('span', { class: `state ${trusted ? 'good' : 'bad'}` }, word)),
    ...(trust === 'open' ? [element('p', { class: 'warning' }, OPEN)] : []),
    drawTerms('facts', [
      ...facts.filter(([, value]) => value !== undefined),
      ...(until === undefined ? [] : [['Valid until', drawEnd(until)] as const]),
    ]),
    drawChecks('What the verifier checks of it', checks),
  ]
}
