/** Small charts of what happened in each of the last hours, each beside its number and its words. */
import { element } from './dom.ts'

const SVG = 'http://www.w3.org/2000/svg'
const HEIGHT = 24

export interface Hour {
  /** Seconds since the epoch. */
  readonly from: number
  readonly counts: Readonly<Record<string, number>>
}

/** Draws a row for each name that was counted, the most frequent first; `drawName` shows the name. */
export function drawHours(
  caption: string,
  hours: readonly Hour[],
  drawName: (name: string) => Node | string,
): HTMLElement {
  const names = [...new Set(hours.flatMap(({ counts }) => Object.keys(counts)))]
  const rows = names
    .map((name) => ({ name, series: hours.map(({ counts }) => counts[name] ?? 0) }))
    .map((row) => ({ ...row, total: row.series.reduce((sum, count) => sum + count, 0) }))
    .toSorted((one, other) => other.total - one.total)
  const most = Math.max(...rows.flatMap(({ series }) => series))
  const times = hours.map(({ from }) => hourText(from))
  return element(
    'table',
    { class: 'hours' },
    element('caption', {}, caption),
    ...rows.map(({ name, series, total }) =>
      element(
        'tr',
        {},
        element('th', { scope: 'row' }, drawName(name)),
        element('td', {}, String(total)),
        element('td', {}, drawSeries(series, times, most)),
        element('td', { class: 'quiet' }, peakText(series, times)),
      ),
    ),
  )
}

/** Draws the chart of a series. All charts of a table have the same scale, so that they can be compared. */
function drawSeries(series: readonly number[], times: readonly string[], most: number): Element {
  const words = series.flatMap((count, index) => (count === 0 ? [] : [`${times[index] ?? ''} ${count}`]))
  const chart = shape('svg', {
    class: 'series',
    viewBox: `0 0 ${series.length} ${HEIGHT}`,
    preserveAspectRatio: 'none',
    role: 'img',
    'aria-label': `by the hour: ${words.join(', ')}`,
  })
  chart.append(shape('rect', { class: 'ground', x: 0, y: HEIGHT - 0.5, width: series.length, height: 0.5 }))
  for (const [index, count] of series.entries()) {
    // An hour with one stays visible beside an hour with a thousand.
    const height = count === 0 ? 0 : Math.max((count / most) * HEIGHT, 2)
    const bar = shape('rect', { x: index + 0.1, y: HEIGHT - height, width: 0.8, height })
    const hint = document.createElementNS(SVG, 'title')
    hint.textContent = `${times[index] ?? ''}: ${count}`
    bar.append(hint)
    chart.append(bar)
  }
  return chart
}

function peakText(series: readonly number[], times: readonly string[]): string {
  const most = Math.max(...series)
  return `most: ${most} at ${times[series.lastIndexOf(most)] ?? ''}`
}

function hourText(from: number): string {
  return new Date(from * 1000).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })
}

function shape(tag: 'svg' | 'rect', attributes: Readonly<Record<string, string | number>>): SVGElement {
  const node = document.createElementNS(SVG, tag)
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value))
  return node
}
