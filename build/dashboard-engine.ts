/** The panels about execution engines. */
import { ofEngine, type Row } from './dashboard-row.ts'

export const engineRow: Row = {
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
      title: 'Age of the oldest transaction that waits',
      expr: ofEngine('outbox_oldest_seconds'),
      legend: '{{instance}}',
      unit: 's',
      alarm: { from: 3600 },
      means: 'Where it is red, transaction_waits in the log says why it is not included.',
    },
    {
      title: 'Contracts',
      expr: `sum by (state) (${ofEngine('contracts')})`,
      legend: '{{state}}',
      unit: 'short',
      means: 'Contracts by how they stand.',
    },
    {
      title: 'State change hooks that were given up',
      expr: ofEngine('dead_hooks'),
      legend: '{{instance}}',
      unit: 'short',
      alarm: { from: 1 },
      means: 'Contracts whose component has a mistake; state_change_dead in the log names each.',
    },
    {
      title: 'Answers of engines that are errors',
      expr: `60 * sum by (error) (rate(vouchsafe_engine_http_answers_total{instance=~"$instance",error!=""}[$__rate_interval]))`,
      legend: '{{error}}',
      unit: 'short',
      means: 'Errors a minute; docs/engine.md says what each means.',
    },
  ],
}
