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
  ['Services that answer', 'below', 1, /up\{.*\} == 0\n/],
  ['The certificate that ends first', 'below', 1_209_600, /_certificate_expires_seconds.* < 1209600'/],
  ['Age of the oldest callback that waits', 'from', 600, /_callback_oldest_seconds.* > 600'/],
  ['Callbacks that were given up', 'from', 1, /_callbacks",state="dead"\} > 0'/],
] as const)('is red from where the rules warn: %s', (title, side, value, rule) => {
  const panel = rows.flatMap(({ panels }) => panels).find((each) => each.title === title)
  expect(panel?.alarm).toEqual({ [side]: value })
  const [line] = readFileSync(join(ROOT, 'deploy/prometheus-rules.yaml'), 'utf8')
    .split(/(?<=\n)/)
    .filter((each) => rule.test(each))
  const [, selector = ''] = /\{(.*)\}/.exec(line ?? '') ?? []
  expect(selector).not.toBe('')
  for (const matcher of selector.split(',')) expect(panel?.expr).toContain(matcher)
})
