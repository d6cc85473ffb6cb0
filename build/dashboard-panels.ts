/** The panels that an operator looks at in Grafana, over the metrics of docs/metrics.md. */

/** A panel with one query. The query may use `$instance`, and `legend` names each line by its labels. */
export interface Panel {
  readonly title: string
  readonly expr: string
  readonly legend: string
  readonly unit: 'short' | 'reqps' | 's' | 'bytes' | 'percentunit'
  /** Draws the newest value as a number, which is red where deploy/prometheus-rules.yaml warns. */
  readonly alarm?: Alarm
  readonly means: string
}

export type Alarm = { readonly below: number } | { readonly from: number }

export interface Row {
  readonly title: string
  /** The width of each panel, in columns. A panel of half the page names its lines in a table beside them. */
  readonly width: 6 | 8 | 12
  readonly panels: readonly Panel[]
}

const selectMetric = (services: string, name: string, labels: string): string =>
  `{__name__=~"vouchsafe_(${services})_${name}",instance=~"$instance"${labels}}`
const credentialServices = (name: string, state = ''): string =>
  selectMetric('issuer|verifier', name, state && `,state="${state}"`)
const allServices = (name: string, labels = ''): string => selectMetric('issuer|verifier|engine', name, labels)
const rateOf = (name: string, labels: string): string =>
  `sum by (${labels}) (rate(${credentialServices(name)}[$__rate_interval]))`
/** Leaves out routes without requests, whose time is not a number. */
const quantile = (share: string): string =>
  `histogram_quantile(${share}, sum by (le, route) (rate(${credentialServices('http_request_seconds_bucket')}[$__rate_interval]))) >= 0`
const ofProcess = (name: string): string => `${name}{job=~"vouchsafe.*",instance=~"$instance"}`
const ofEngine = (name: string): string => `vouchsafe_engine_${name}{instance=~"$instance"}`

export const rows: readonly Row[] = [
  {
    title: 'Is everything well?',
    width: 6,
    panels: [
      {
        title: 'Services that answer',
        expr: 'up{job=~"vouchsafe.*",instance=~"$instance"}',
        legend: '{{instance}}',
        unit: 'short',
        alarm: { below: 1 },
        means: '1 where the metrics of a service can be read, else 0.',
      },
      {
        title: 'The certificate that ends first',
        expr: `min by (instance) (${allServices('certificate_expires_seconds', ',key!~"keys[.]audit|.*[.]previous.*"')})`,
        legend: '{{instance}}',
        unit: 's',
        alarm: { below: 14 * 86_400 },
        means: 'Time left; renew it two weeks before its end, when this is red.',
      },
      {
        title: 'Age of the oldest callback that waits',
        expr: credentialServices('callback_oldest_seconds', 'waiting'),
        legend: '{{instance}}',
        unit: 's',
        alarm: { from: 600 },
        means: 'The application has not taken its callbacks for that long.',
      },
      {
        title: 'Callbacks that were given up',
        expr: credentialServices('callbacks', 'dead'),
        legend: '{{instance}}',
        unit: 'short',
        alarm: { from: 1 },
        means: 'What the application was never told; deliver these callbacks again. It counts up to 1000.',
      },
    ],
  },
  {
    title: 'Issuing and verifying',
    width: 12,
    panels: [
      {
        title: 'Events',
        expr: `60 * ${rateOf('events_total', 'type')} > 0`,
        legend: '{{type}}',
        unit: 'short',
        means: 'What became of sessions, a minute, by the type of the event; a type without events has no line.',
      },
      {
        title: 'Checks that failed',
        expr: '60 * sum by (check) (rate(vouchsafe_verifier_failed_checks_total{instance=~"$instance"}[$__rate_interval]))',
        legend: '{{check}}',
        unit: 'short',
        means: 'Checks of verifications that failed, a minute. docs/checks.md says what each asks.',
      },
      {
        title: 'The newest sessions',
        expr: credentialServices('sessions'),
        legend: '{{instance}} {{state}}',
        unit: 'short',
        means: 'The newest 100 sessions by their state. Many that stay STARTED: wallets do not get through.',
      },
      {
        title: 'Age of the oldest status list',
        expr: 'vouchsafe_issuer_status_list_age_seconds{instance=~"$instance"}',
        legend: '{{instance}}',
        unit: 's',
        means: 'Time since it was signed. A list is signed anew when it changes, and before it ends.',
      },
    ],
  },
  {
    title: 'Requests',
    width: 12,
    panels: [
      {
        title: 'Requests by status',
        expr: rateOf('http_requests_total', 'status'),
        legend: '{{status}}',
        unit: 'reqps',
        means: 'Answers a second. One of 500 and more is a fault of the service or its database, but for 501.',
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
        title: 'Time of a step, 99 of 100',
        expr: `histogram_quantile(0.99, sum by (le, step) (rate(${credentialServices('step_seconds_bucket')}[$__rate_interval]))) >= 0`,
        legend: '{{step}}',
        unit: 's',
        means: 'Which part of a request takes long: the database, signing, or the check of a presentation.',
      },
    ],
  },
  {
    title: 'Processes',
    width: 6,
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
        means:
          'Where statements wait for a connection, raise database.pool.maxConnections. An embedded database has none.',
      },
      {
        title: 'Batches that wait for SQLite',
        expr: credentialServices('database_batches_waiting'),
        legend: '{{instance}}',
        unit: 'short',
        means: 'Changes that wait for the disk. Where it stays up, the disk is the limit. PostgreSQL has none.',
      },
      {
        title: 'Lost lines of the log',
        expr: `60 * sum by (instance) (rate(${allServices('log_lines_dropped_total')}[$__rate_interval]))`,
        legend: '{{instance}}',
        unit: 'short',
        means: 'Lines that nobody read in time, a minute, or that the disk did not take.',
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
      {
        title: 'Callbacks that wait',
        expr: credentialServices('callbacks', 'waiting'),
        legend: '{{instance}}',
        unit: 'short',
        means: 'Sessions whose callbacks wait for the application, up to 1000.',
      },
    ],
  },
  {
    title: 'Execution engines',
    width: 8,
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
        expr: `histogram_quantile(0.99, sum by (le, hook) (rate(${ofEngine('call_seconds_bucket')}[$__rate_interval]))) >= 0`,
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
