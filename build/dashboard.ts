/**
 * deploy/grafana-dashboard.json: what an operator looks at, as panels of Grafana over the metrics of docs/metrics.md.
 */

/** A panel with one query. The query may use `$instance`, and `legend` names each line by its labels. */
export interface Panel {
  readonly title: string
  readonly expr: string
  readonly legend: string
  readonly unit: 'short' | 'reqps' | 's' | 'bytes' | 'percentunit'
  /** Draws the newest value as a number rather than lines over time. */
  readonly isNumber?: true
  readonly means: string
}

interface Row {
  readonly title: string
  readonly panels: readonly Panel[]
}

const credentialServices = (name: string): string =>
  `{__name__=~"vouchsafe_(issuer|verifier)_${name}",instance=~"$instance"}`
const rateOf = (name: string, labels: string): string =>
  `sum by (${labels}) (rate(${credentialServices(name)}[$__rate_interval]))`
const quantile = (share: string): string =>
  `histogram_quantile(${share}, sum by (le, route) (rate(${credentialServices('http_request_seconds_bucket')}[$__rate_interval])))`
const ofProcess = (name: string): string => `${name}{job=~"vouchsafe.*",instance=~"$instance"}`
const ofEngine = (name: string): string => `vouchsafe_engine_${name}{instance=~"$instance"}`

export const rows: readonly Row[] = [
  {
    title: 'Is everything well?',
    panels: [
      {
        title: 'Services that answer',
        expr: 'up{job=~"vouchsafe.*",instance=~"$instance"}',
        legend: '{{instance}}',
        unit: 'short',
        isNumber: true,
        means: '1 where the metrics of a service can be read, else 0.',
      },
      {
        title: 'The certificate that ends first',
        expr: `min by (instance) (${credentialServices('certificate_expires_seconds')})`,
        legend: '{{instance}}',
        unit: 's',
        isNumber: true,
        means: 'Time left; renew it two weeks before its end.',
      },
      {
        title: 'Age of the oldest callback',
        expr: credentialServices('callback_oldest_seconds'),
        legend: '{{instance}} {{state}}',
        unit: 's',
        isNumber: true,
        means:
          'Callbacks that wait for long were not taken by the application; those given up are to be delivered again.',
      },
      {
        title: 'Callbacks that wait, or were given up',
        expr: credentialServices('callbacks'),
        legend: '{{instance}} {{state}}',
        unit: 'short',
        isNumber: true,
        means: 'Sessions whose callbacks wait, and callbacks that were given up; both count up to 1000.',
      },
    ],
  },
  {
    title: 'Issuing and verifying',
    panels: [
      {
        title: 'Events',
        expr: `60 * ${rateOf('events_total', 'type')}`,
        legend: '{{type}}',
        unit: 'short',
        means: 'What became of sessions, a minute, by the type of the event.',
      },
      {
        title: 'Checks that failed',
        expr: '60 * sum by (check) (rate(vouchsafe_verifier_failed_checks_total{instance=~"$instance"}[$__rate_interval]))',
        legend: '{{check}}',
        unit: 'short',
        means: 'Checks of verifications that failed, a minute. docs/checks.md says what each asks.',
      },
      {
        title: 'Requests by status',
        expr: rateOf('http_requests_total', 'status'),
        legend: '{{status}}',
        unit: 'reqps',
        means: 'Answers a second. One of 500 and more is a fault of the service or its database.',
      },
      {
        title: 'Refusals',
        expr: `60 * ${rateOf('http_refusals_total', 'route, error')}`,
        legend: '{{route}} {{error}}',
        unit: 'short',
        means: 'Requests that were refused, a minute, by route and error. docs/errors.md says what to do about each.',
      },
      {
        title: 'Time to answer, median',
        expr: quantile('0.5'),
        legend: '{{route}}',
        unit: 's',
        means: 'Half of the requests of a route were answered faster.',
      },
      {
        title: 'Time to answer, 99 of 100',
        expr: quantile('0.99'),
        legend: '{{route}}',
        unit: 's',
        means: 'All but one in a hundred requests of a route were answered faster.',
      },
      {
        title: 'Conflicts',
        expr: `60 * ${rateOf('store_conflicts_total', 'instance, end')}`,
        legend: '{{instance}} {{end}}',
        unit: 'short',
        means: 'Work that met a change by another, a minute: done anew, or given up.',
      },
      {
        title: 'Open streams of events',
        expr: credentialServices('event_streams'),
        legend: '{{instance}}',
        unit: 'short',
        means: 'Pages and applications that follow a session.',
      },
    ],
  },
  {
    title: 'Processes',
    panels: [
      {
        title: 'Processor time',
        expr: `rate(${ofProcess('process_cpu_seconds_total')}[$__rate_interval])`,
        legend: '{{instance}}',
        unit: 'percentunit',
        means: 'One process serves with one core: near 100 % it is at its limit.',
      },
      {
        title: 'Memory',
        expr: ofProcess('process_resident_memory_bytes'),
        legend: '{{instance}}',
        unit: 'bytes',
        means: 'Resident memory.',
      },
      {
        title: 'Delay of the event loop, 99 of 100',
        expr: ofProcess('nodejs_eventloop_lag_p99_seconds'),
        legend: '{{instance}}',
        unit: 's',
        means: 'The time for which requests wait for others.',
      },
      {
        title: 'Open files and connections',
        expr: ofProcess('process_open_fds'),
        legend: '{{instance}}',
        unit: 'short',
        means: 'File descriptors of a process.',
      },
      {
        title: 'Connections to PostgreSQL',
        expr: credentialServices('database_connections'),
        legend: '{{instance}} {{state}}',
        unit: 'short',
        means: 'Where statements wait for a connection, raise database.maxConnections. An embedded database has none.',
      },
    ],
  },
  {
    title: 'Execution engines',
    panels: [
      {
        title: 'Calls by how they ended',
        expr: `sum by (hook, outcome) (rate(${ofEngine('calls_total')}[$__rate_interval]))`,
        legend: '{{hook}} {{outcome}}',
        unit: 'reqps',
        means: 'Calls of components a second.',
      },
      {
        title: 'Time of a call, 99 of 100',
        expr: `histogram_quantile(0.99, sum by (le, hook) (rate(${ofEngine('call_seconds_bucket')}[$__rate_interval])))`,
        legend: '{{hook}}',
        unit: 's',
        means: 'Without the wait for the calls before it.',
      },
      {
        title: 'How far behind the chain',
        expr: ofEngine('chain_unseen_seconds'),
        legend: '{{instance}}',
        unit: 's',
        means: 'Time since the last successful look at the chain.',
      },
      {
        title: 'Transactions that wait',
        expr: ofEngine('outbox'),
        legend: '{{instance}}',
        unit: 'short',
        means: 'Transactions that wait to be included in a block.',
      },
      {
        title: 'Contracts',
        expr: `sum by (state) (${ofEngine('contracts')})`,
        legend: '{{state}}',
        unit: 'short',
        means: 'Contracts by how they stand.',
      },
      {
        title: 'Answers of engines that are errors',
        expr: `60 * sum by (error) (rate(vouchsafe_engine_http_answers_total{instance=~"$instance",error!=""}[$__rate_interval]))`,
        legend: '{{error}}',
        unit: 'short',
        means: 'Errors a minute; docs/engine.md says what each means.',
      },
    ],
  },
]

/** The columns of Grafana's grid, and the size of a panel in it. */
const COLUMNS = 24
const WIDTH = 6
const HEIGHT = { number: 4, lines: 8 }

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
  return rows.flatMap(({ title, panels }, rowIndex) => {
    const top = y + 1
    const h = panels.every(({ isNumber }) => isNumber) ? HEIGHT.number : HEIGHT.lines
    const id = 100 * (rowIndex + 1)
    const row = { id, type: 'row', title, collapsed: false, gridPos: { x: 0, y, w: COLUMNS, h: 1 }, panels: [] }
    const placed = panels.map((panel, index) => {
      const [x, line] = [(index * WIDTH) % COLUMNS, Math.floor((index * WIDTH) / COLUMNS)]
      return { id: id + index + 1, ...drawPanel(panel), gridPos: { x, y: top + line * h, w: WIDTH, h } }
    })
    y = top + Math.ceil((panels.length * WIDTH) / COLUMNS) * h
    return [row, ...placed]
  })
}

function drawPanel({ title, expr, legend, unit, isNumber, means }: Panel): object {
  return {
    title,
    description: means,
    type: isNumber ? 'stat' : 'timeseries',
    datasource: { type: 'prometheus', uid: '$source' },
    targets: [{ refId: 'A', expr, legendFormat: legend, ...(isNumber && { instant: true, range: false }) }],
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: isNumber
      ? { reduceOptions: { calcs: ['lastNotNull'] }, textMode: 'value_and_name', colorMode: 'none' }
      : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
  }
}
