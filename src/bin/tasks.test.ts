import { pino } from 'pino'
import { expect, it } from 'vitest'
import { failedRounds, runTasks } from './tasks.ts'

it('a task that fails for long is logged less and less often, counted each time, and logged anew after a good round', async () => {
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  let round = 0
  const run = () => {
    round += 1
    return round === 20 || round > 21 ? Promise.resolve() : Promise.reject(new Error(`round ${round}`))
  }
  const stop = runTasks([{ name: 'a task of a test', everyMs: 1, run }], log)
  await expect.poll(() => round).toBeGreaterThan(25)
  await stop()
  const logged = lines.map((line) => JSON.parse(line) as { event: string; task: string; failures: number })
  expect(logged.map(({ failures }) => failures)).toEqual([1, 2, 4, 8, 16, 1])
  expect(logged[0]).toMatchObject({ event: 'upkeep_failed', task: 'a task of a test' })
  expect(failedRounds.get('a task of a test')).toBe(20)
})
