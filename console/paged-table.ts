/** A table whose further rows are read on demand. */
import { element, hiddenProblem, showProblem } from './dom.ts'
import { drawRow, drawTable } from './table.ts'

const ROWS = 50

export interface PagedTable<Entry> {
  /** The name of the table, which stands above it. */
  readonly caption: string
  readonly heads: readonly string[]
  readonly entries: AsyncGenerator<Entry, void> | Iterator<Entry, void>
  /** Makes the cells of a row, one for each head. */
  readonly cellsOf: (entry: Entry) => readonly (Node | string)[]
  /** The words in place of the rows when there are none. */
  readonly none: string
  /** How many rows one press brings; 50 when absent. */
  readonly rowsAtOnce?: number
}

/** Draws the table with its first rows. Rejects when these cannot be read. */
export async function drawPagedTable<Entry>(table: PagedTable<Entry>): Promise<HTMLElement> {
  const { caption, heads, none } = table
  const rows = element('tbody')
  const more = element('button', { type: 'button', hidden: true }, 'Show more')
  const problem = hiddenProblem()
  const fill = async (): Promise<void> => {
    problem.hidden = true
    const first = rows.childElementCount
    more.hidden = await addRows(rows, table)
    // The button is gone after the last rows, so that the focus goes to the first of these.
    if (more.hidden && first > 0) rows.querySelectorAll('tr')[first]?.focus()
  }
  more.addEventListener('click', () => {
    more.disabled = true
    fill()
      .catch((error: unknown) => showProblem(problem, error))
      .finally(() => (more.disabled = false))
  })
  await fill()
  if (rows.childElementCount === 0) return element('p', {}, element('strong', {}, caption), `: ${none}`)
  return element('div', {}, drawTable(caption, heads, rows), more, problem)
}

/** Adds as many rows as one press brings. Resolves with whether there are no more. */
async function addRows<Entry>(
  rows: HTMLElement,
  { heads, entries, cellsOf, rowsAtOnce = ROWS }: PagedTable<Entry>,
): Promise<boolean> {
  for (let remaining = rowsAtOnce; remaining > 0; remaining -= 1) {
    const next = await entries.next()
    if (next.done === true) return true
    rows.append(drawRow(heads, cellsOf(next.value), { tabindex: '-1' }))
  }
  return false
}
