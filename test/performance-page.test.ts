import { expect, it } from 'vitest'
import type { MeasuredPart, PublishedResults, Target } from '../bench/report.ts'
import { aimsText } from '../build/performance-aims.ts'

const machine = {
  processor: 'a processor',
  cores: 2,
  memoryMegabytes: 8000,
  system: 'linux',
  loadAverage: 0,
  takenByOtherMachines: 0,
}

function measured(targets: readonly Target[], source = 'aaaa'): MeasuredPart {
  const at = { at: '2026-01-01T00:00:00Z', commit: 'cccc', source, changedSinceCommit: false, node: 'v24.0.0', machine }
  return { ...at, options: {}, results: {}, targets }
}

const aim = (value: number, reached = true): Target => ({
  ...{ target: 'at most 2 times', reached, figure: `${value} times`, value },
  ...{ least: value - 0.1, most: value + 0.1 },
})

const pageOf = (now: MeasuredPart, before?: MeasuredPart): string => {
  const published: PublishedResults = { 'flows, sqlite': { now, ...(before ? { before } : {}) } }
  return aimsText(published)
}

it('says of each aim whether it is reached, and counts those that are', () => {
  const text = pageOf(measured([aim(1.9), { target: 'another', reached: false, figure: '9 ms' }]))
  expect(text).toContain('1 of 2 aims are reached.')
  expect(text).toContain('| at most 2 times | 1.9 times | reached |')
  expect(text).toContain('| another | 9 ms | **not reached** |')
  expect(text).toContain('There is no run before this one yet.')
})

it('says by how much a figure differs from the run before, and whether the ranges of their rounds overlap', () => {
  expect(pageOf(measured([aim(2)]), measured([aim(1.95)]))).toContain('| 1.95 times | +2.6 % | yes |')
  const text = pageOf(measured([aim(1.5)]), measured([aim(2)]))
  expect(text).toContain('| 2 times | -25.0 % | no |')
  expect(text).toContain('The two runs agree in 0 of 1 figures.')
})

it('says whether both runs are of the same source', () => {
  expect(pageOf(measured([aim(2)]), measured([aim(2)]))).toContain('Both runs are of the same source.')
  const text = pageOf(measured([aim(2)]), measured([aim(2)], 'bbbb'))
  expect(text).toContain('The run before is of another source: flows, sqlite.')
})
