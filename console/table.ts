/** Tables of records: on a phone each cell stands below the last one, after its head. */
import { element } from './dom.ts'

/** Draws a table. `body` has its rows, each of {@link drawRow}. */
export function drawTable(caption: string, heads: readonly string[], body: HTMLTableSectionElement): HTMLElement {
  const headRow = element('tr', {}, ...heads.map((head) => element('th', { scope: 'col' }, head)))
  return element('table', { class: 'records' }, element('caption', {}, caption), element('thead', {}, headRow), body)
}

/** Draws a row with a cell for each head. */
export function drawRow(
  heads: readonly string[],
  cells: readonly (Node | string)[],
  attributes: Readonly<Record<string, string>>,
): HTMLElement {
  return element(
    'tr',
    attributes,
    ...cells.map((cell, index) => element('td', { 'data-head': heads[index] ?? '' }, cell)),
  )
}
