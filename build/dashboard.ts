/** Draws deploy/grafana-dashboard.json: the panels of build/dashboard-panels.ts, each in its place. */
import { rows } from './dashboard-panels.ts'
import type { Alarm, Panel, Row } from './dashboard-row.ts'

/** The columns of Grafana's grid, and the height of a panel in it. */
const COLUMNS = 24
const HEIGHT = { numbers: 5, lines: 8 }

/** Makes the dashboard, as Grafana imports it. */
export function drawDashboard(): string {
  const dashboard = {
    title: 'Vouchsafe',
    uid: 'vouchsafe',
    tags: ['vouchsafe'],
    schemaVersion: 39,
    timezone: 'browser',
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [dataSource, instances] },
    panels: placeRows(),
  }
  return JSON.stringify(dashboard, null, 2)
}

const dataSource = { name: 'source', label: 'Prometheus', type: 'datasource', query: 'prometheus' }
const instances = {
  name: 'instance',
  label: 'Instance',
  type: 'query',
  datasource: { type: 'prometheus', uid: '$source' },
  query: 'label_values(up{job=~"vouchsafe.*"}, instance)',
  refresh: 2,
  includeAll: true,
  multi: true,
  allValue: '.*',
  current: { text: 'All', value: '$__all' },
}

function placeRows(): readonly object[] {
  let y = 0
  return rows.flatMap(({ title, width, panels }, rowIndex) => {
    const top = y + 1
    const h = panels.every(({ alarm }) => alarm) ? HEIGHT.numbers : HEIGHT.lines
    const id = 100 * (rowIndex + 1)
    const row = { id, type: 'row', title, collapsed: false, gridPos: { x: 0, y, w: COLUMNS, h: 1 }, panels: [] }
    const placedPanels = panels.map((panel, index) => {
      const [x, line] = [(index * width) % COLUMNS, Math.floor((index * width) / COLUMNS)]
      return { id: id + index + 1, ...drawPanel(panel, width), gridPos: { x, y: top + line * h, w: width, h } }
    })
    y = top + Math.ceil((panels.length * width) / COLUMNS) * h
    return [row, ...placedPanels]
  })
}

function drawPanel({ title, expr, legend, unit, alarm, means }: Panel, width: Row['width']): object {
  return {
    title,
    description: means,
    type: alarm ? 'stat' : 'timeseries',
    datasource: { type: 'prometheus', uid: '$source' },
    targets: [{ refId: 'A', expr, legendFormat: legend, ...(alarm && { instant: true, range: false }) }],
    fieldConfig: { defaults: { unit, min: 0, ...(alarm ? colours(alarm) : scale(unit)) }, overrides: [] },
    options: alarm ? NUMBERS : { legend: drawLegend(width), tooltip: { mode: 'multi', sort: 'desc' } },
  }
}

/** Numbers have a size of their own, since Grafana makes the names of five instances unreadable. */
const NUMBERS = {
  ...{ reduceOptions: { calcs: ['lastNotNull'] }, orientation: 'horizontal', textMode: 'value_and_name' },
  ...{ colorMode: 'value', graphMode: 'none', text: { titleSize: 14, valueSize: 18 } },
}

function colours(alarm: Alarm): object {
  const [before, after, value] = 'below' in alarm ? ['red', 'green', alarm.below] : ['green', 'red', alarm.from]
  const steps = [
    { color: before, value: null },
    { color: after, value },
  ]
  return { color: { mode: 'thresholds' }, thresholds: { mode: 'absolute', steps } }
}

/** Keeps a count of nothing on a scale to 1, which Grafana draws on a scale to 100. */
const scale = (unit: Panel['unit']): object => (unit === 'short' ? { custom: { axisSoftMax: 1 } } : {})

/** Sorts a table by the highest values, since the lines of it are many. */
const drawLegend = (width: Row['width']): object =>
  width === 12
    ? { displayMode: 'table', placement: 'right', calcs: ['max'], sortBy: 'Max', sortDesc: true }
    : { displayMode: 'list', placement: 'bottom' }
