/** The audit logs of the services: their records, the newest first, and whether they are intact. */
import type { IssuerSchemas, OperatorClient } from '../sdk/server/index.ts'
import { drawTerms, drawTime, element, hiddenProblem, introduction, showProblem } from './dom.ts'
import type { ShowPage } from './page.ts'
import { drawPagedTable } from './paged-table.ts'
import { clientOf, drawServiceSections } from './service-sections.ts'

type Page = IssuerSchemas['AuditRecordPage']
type AuditRecord = IssuerSchemas['AuditRecord']
type Stretch = IssuerSchemas['AuditVerification']

/** The records that one request reads, and one press of "Show more" brings. */
const LIMIT = 20

export const showAudit: ShowPage = async (main, { services, signal }) => {
  const lead =
    'Who did what with the services, and whether anybody changed the log since. Reading it leaves a record too; a session is named by the SHA-256 of its id, which its own page has.'
  main.append(introduction('Audit log', lead))
  await drawServiceSections(main, services, async (place, name) => {
    const client = clientOf(name)
    const first = await client.readAuditRecords({ limit: LIMIT })
    place.replaceChildren(drawHead(first), drawVerification(client, signal), await drawRecords(client, first))
  })
}

function drawHead({ head, checkpoint }: Page): HTMLElement {
  if (head === undefined) return element('p', {}, 'The log has no record yet.')
  const { signature, sequence, at, problem } = checkpoint ?? {}
  const signatureTerms = [
    problem === undefined
      ? `up to record ${sequence ?? 0}, on `
      : element('span', { class: 'bad' }, `The signature does not hold: ${problem}`),
    at !== undefined && drawTime(Date.parse(at) / 1000),
  ] as const
  const records = ['Records', String(head.sequence)] as const
  if (signature === undefined) {
    return drawTerms('facts', [
      records,
      ['Last signed', 'not yet; a service signs its log once a minute, when something is new'],
    ])
  }
  return drawTerms('facts', [records, ['Last signed', ...signatureTerms], ['Signature', drawSignature(signature)]])
}

/**
 * Draws the signature of the head of the log. A log that was cut off is noticed by an earlier signature that somebody
 * kept.
 */
function drawSignature(signature: string): HTMLElement {
  const summary = element('summary', {}, 'Keep a copy elsewhere: it shows when the log is cut off')
  return element('details', {}, summary, element('code', { class: 'long' }, signature))
}

function drawVerification(client: OperatorClient, signal: AbortSignal): HTMLElement {
  const progress = element('p', { class: 'quiet' })
  const result = element('div', { role: 'status' })
  const problem = hiddenProblem()
  const buttons = (
    [
      ['checkpoint', 'Verify since the last signature'],
      ['start', 'Verify the whole log'],
    ] as const
  ).map(([from, label]) => {
    const verify = async (): Promise<void> => {
      result.replaceChildren()
      result.append(...drawVerdict(await verifyStretches(client, from, progress, signal)))
    }
    const onclick = ({ currentTarget }: Event): void => {
      problem.hidden = true
      for (const each of buttons) each.disabled = true
      verify()
        .catch((error: unknown) => showProblem(problem, error))
        .finally(() => {
          progress.textContent = ''
          for (const each of buttons) each.disabled = false
          if (currentTarget instanceof HTMLElement) currentTarget.focus()
        })
    }
    return element('button', { type: 'button', class: 'second', onclick }, label)
  })
  return element('div', {}, element('div', { class: 'buttons' }, ...buttons), progress, problem, result)
}

/** Verifies stretch by stretch, and says how far that is, until the end, a fault, or another page. */
async function verifyStretches(
  client: OperatorClient,
  from: 'checkpoint' | 'start',
  progress: HTMLElement,
  signal: AbortSignal,
): Promise<readonly Stretch[]> {
  const stretches: Stretch[] = []
  for await (const stretch of client.verifyAuditLog(from)) {
    stretches.push(stretch)
    progress.textContent = `Verified up to record ${stretch.up_to} of ${stretch.head} …`
    if (!stretch.intact || signal.aborted) break
  }
  return stretches
}

function drawVerdict(stretches: readonly Stretch[]): readonly HTMLElement[] {
  const [first, last] = [stretches[0], stretches.at(-1)]
  if (first === undefined || last === undefined) return []
  const state = (look: string, word: string) =>
    element('p', {}, element('span', { class: `state ${look}` }, word), ` Records ${first.after + 1} to ${last.up_to}.`)
  if (!last.intact) {
    const advice = 'Compare the log with a copy (vouchsafe audit export), and find out who can write to the database.'
    return [
      element('p', {}, element('span', { class: 'state bad' }, 'not intact')),
      element('ul', { class: 'bad' }, ...last.problems.map((each) => element('li', {}, each))),
      element('p', {}, advice),
    ]
  }
  const lastVouchedRecord = Math.max(...stretches.map(({ vouched_for: record }) => record))
  const signed =
    lastVouchedRecord === 0
      ? 'No signature is among them yet.'
      : `Signatures of the service cover them up to record ${lastVouchedRecord}.`
  return [state('good', 'intact'), element('p', {}, signed)]
}

function drawRecords(client: OperatorClient, first: Page): Promise<HTMLElement> {
  return drawPagedTable<AuditRecord | DamagedBlock>({
    caption: 'Records, the newest first',
    heads: ['No.', 'Time', 'Event', 'By', 'About', 'Session'],
    entries: recordsFrom(client, first),
    none: 'there are none.',
    rowsAtOnce: LIMIT,
    cellsOf: (entry) => ('damagedBlock' in entry ? drawDamagedBlock(entry) : drawRecord(entry)),
  })
}

/** A block of the log that the service cannot read in its database. */
interface DamagedBlock {
  readonly damagedBlock: number
}

function drawRecord({
  sequence,
  at,
  type,
  outcome,
  caller = '',
  subject = '',
  session,
}: AuditRecord): readonly (Node | string)[] {
  return [
    String(sequence),
    drawTime(Date.parse(at) / 1000),
    outcome === undefined ? type : `${type} (${outcome})`,
    caller,
    subject === '' ? '' : element('span', { class: 'long' }, subject),
    session === undefined ? '' : element('code', { class: 'long' }, session),
  ]
}

function drawDamagedBlock({ damagedBlock }: DamagedBlock): readonly (Node | string)[] {
  const text = `block ${damagedBlock} cannot be read: look for a backup that has it`
  return ['', '', element('span', { class: 'bad' }, text), '', '', '']
}

async function* recordsFrom(client: OperatorClient, first: Page): AsyncGenerator<AuditRecord | DamagedBlock, void> {
  for (let page = first; ; ) {
    yield* page.records
    for (const damagedBlock of page.damaged_blocks ?? []) yield { damagedBlock }
    if (page.next === undefined) return
    page = await client.readAuditRecords({ cursor: page.next, limit: LIMIT })
  }
}
