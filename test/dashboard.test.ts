/** The dashboard for Grafana: its panels stand beside one another, and are red from where the rules warn. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { drawDashboard } from '../build/dashboard.ts'
import { rows } from '../build/dashboard-panels.ts'
import { ROOT } from './support/documents.ts'

interface Drawn {
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
}

it('has no two panels in one place, and none beside the page', () => {
  const { panels } = JSON.parse(drawDashboard()) as { readonly panels: readonly Drawn[] }
  const places = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
  )
  expect(new Set(places).size).toBe(places.length)
  expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([])
})

it.each([
  ['Services that are ready', 'below', 1, /_ready"\} == 0'/],
  ['Services that answer', 'below', 1, /up\{.*\} == 0\n/],
  ['The certificate that ends first', 'below', 1_209_600, /_certificate_expires_seconds.* < 1209600'/],
  ['The status list that ends first', 'below', 21_600, /_status_list_expires_seconds < 21600/],
  ['Age of the oldest callback that waits', 'from', 600, /_callback_oldest_seconds.* > 600'/],
  ['Callbacks that were given up', 'from', 1, /_callbacks",state="dead"\} > 0'/],
  ['Keys in tokens that sign', 'below', 1, /_token_key_signs"\} == 0'/],
  ['Age of the oldest transaction that waits', 'from', 3600, /_outbox_oldest_seconds > 3600/],
  ['State change hooks that were given up', 'from', 1, /_dead_hooks > 0/],
] as const)('is red from where the rules warn: %s', (title, side, value, rule) => {
  const panel = rows.flatMap(({ panels }) => panels).find((each) => each.title === title)
  expect(panel?.alarm).toEqual({ [side]: value })
  const [line] = readFileSync(join(ROOT, 'deploy/prometheus-rules.yaml'), 'utf8')
    .split(/(?<=\n)/)
    .filter((each) => rule.test(each))
  const [, labels, metric] = /\{(.*)\}|expr: (\w+) [<>]/.exec(line ?? '') ?? []
  const selector = labels ?? metric ?? ''
  expect(selector).not.toBe('')
  for (const matcher of selector.split(',')) expect(panel?.expr).toContain(matcher)
})
