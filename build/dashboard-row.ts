/** The shapes of a panel and of a row of the dashboard, and the queries that panels have in common. */

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
export const credentialServices = (name: string, state = ''): string =>
  selectMetric('issuer|verifier', name, state && `,state="${state}"`)
export const allServices = (name: string, labels = ''): string => selectMetric('issuer|verifier|engine', name, labels)
export const rateOf = (name: string, labels: string): string =>
  `sum by (${labels}) (rate(${credentialServices(name)}[$__rate_interval]))`
/** Leaves out routes without requests, whose time is not a number. */
export const quantile = (share: string): string =>
  `histogram_quantile(${share}, sum by (le, route) (rate(${credentialServices('http_request_seconds_bucket')}[$__rate_interval]))) >= 0`
export const ofProcess = (name: string): string => `${name}{job=~"vouchsafe.*",instance=~"$instance"}`
export const ofIssuer = (name: string): string => `vouchsafe_issuer_${name}{instance=~"$instance"}`
export const ofEngine = (name: string): string => `vouchsafe_engine_${name}{instance=~"$instance"}`
