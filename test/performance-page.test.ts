import { expect, it } from 'vitest'
import type { MeasuredPart, PublishedResults, Target } from '../bench/report.ts'
import { performancePage } from '../build/docs-performance.ts'
import { aimsText } from '../build/performance-aims.ts'
import { circumstancesText } from '../build/performance-circumstances.ts'

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

it('does not count figures of which the run before had another Node, and names them', () => {
  const text = pageOf(measured([aim(2)]), { ...measured([aim(2)]), node: 'v20.20.2' })
  expect(text).toContain('The two runs agree in 0 of 0 figures.')
  expect(text).toContain('had another processor or Node: flows, sqlite.')
})

const older: MeasuredPart = {
  ...{ ...measured([]), at: '2025-12-31T23:00:00Z', commit: 'dddd', node: 'v20.20.2', changedSinceCommit: true },
  machine: { ...machine, processor: 'Another(R) Processor', cores: 4 },
}

it.each<[string, PublishedResults, string]>([
  [
    'of one run',
    { one: { now: measured([]) }, two: { now: measured([]) } },
    'Measured on a processor (2 cores, 8 GB) with Node 24.0.0, on 2026-01-01 at commit `cccc`.',
  ],
  [
    'of two runs on one machine',
    { one: { now: measured([]) }, two: { now: { ...measured([]), commit: 'eeee' } } },
    'Measured on a processor (2 cores, 8 GB) with Node 24.0.0: flows on 2026-01-01 at commit `cccc`, lists on 2026-01-01 at commit `eeee`.',
  ],
  [
    'of two machines and versions of Node',
    { one: { now: measured([]) }, two: { now: older } },
    'Measured on a processor (2 cores, 8 GB) with Node 24.0.0: flows on 2026-01-01 at commit `cccc`; on Another Processor (4 cores, 8 GB) with Node 20.20.2: lists on 2025-12-31 at commit `dddd` with changes.',
  ],
  [
    'of which one part is not measured',
    { two: { now: measured([]) } },
    'Measured on a processor (2 cores, 8 GB) with Node 24.0.0, on 2026-01-01 at commit `cccc`.',
  ],
  ['that is not measured', {}, ''],
])('says of a section %s what it was measured on', (_, results, sentence) => {
  expect(circumstancesText(results, { one: 'flows', two: 'lists' })).toBe(sentence)
})

it('has every section also where nothing or only a part was measured, and begins with the size of an installation', () => {
  const startup = { ...older, results: { issuer: { median: 1 } } }
  const memory = { ...measured([]), results: { issuer: { peak: 2, samples: [] } } }
  for (const results of [{}, { 'memory, sqlite': { now: memory }, 'startup, sqlite': { now: startup } }]) {
    const headings = [...performancePage(results).matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)
    expect(headings).toHaveLength(12)
    expect(headings[0]).toBe('How large an installation has to be')
    expect(headings.slice(-2)).toEqual(['Beside a floor server', 'Aims, and how a second run agrees'])
  }
  expect(performancePage({ 'startup, sqlite': { now: startup }, 'memory, sqlite': { now: memory } })).toContain(
    '## Memory and start\n\nMeasured on a processor (2 cores, 8 GB) with Node 24.0.0: memory on 2026-01-01 at commit `cccc`; on Another',
  )
})
