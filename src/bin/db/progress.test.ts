import { expect, it, vi } from 'vitest'
import { createRowReport, tellStep } from './progress.ts'

it('tells a step on a large database with its size, and none on a small one', () => {
  const told: string[] = []
  const tell = (text: string) => void told.push(text)
  tellStep(tell, 'Copying the database', 199_999_999)
  tellStep(tell, 'Copying the database', 1_234_000_000)
  expect(told).toEqual(['Copying the database (1.2 GB) ...'])
})

it('tells the copied rows once in two seconds', () => {
  vi.useFakeTimers()
  const told: string[] = []
  const report = createRowReport((text) => void told.push(text))
  for (let rows = 100; rows <= 500; rows += 100) {
    report('issuance_session', rows)
    vi.advanceTimersByTime(1000)
  }
  vi.useRealTimers()
  expect(told).toEqual(['issuance_session: 300 rows copied', 'issuance_session: 500 rows copied'])
})
