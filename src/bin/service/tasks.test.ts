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

it('a task that deletes has no round while the clock is far ahead, and the others go on', async () => {
  let aheadMs = 0
  const clocks = { system: () => performance.now() + aheadMs, monotonic: () => performance.now() }
  const rounds = { deleting: 0, other: 0 }
  let isClockDoubtful: boolean | undefined
  const count = (name: keyof typeof rounds) => () => {
    rounds[name] += 1
    return Promise.resolve()
  }
  const tasks = [
    { name: 'deleting', everyMs: 1, needsTrustedClock: true, run: count('deleting') },
    {
      name: 'other',
      everyMs: 1,
      run: (_stop?: AbortSignal, isDoubtful?: () => boolean) => {
        isClockDoubtful = isDoubtful?.()
        return count('other')()
      },
    },
  ]
  const stop = runTasks(tasks, pino({ level: 'silent' }), clocks)
  await expect.poll(() => rounds.deleting).toBeGreaterThan(2)
  aheadMs = 40 * 86_400_000
  const before = { ...rounds }
  await expect.poll(() => rounds.other).toBeGreaterThan(before.other + 5)
  expect([rounds.deleting, isClockDoubtful]).toEqual([before.deleting, true])
  aheadMs = 0
  await expect.poll(() => rounds.deleting).toBeGreaterThan(before.deleting)
  await stop()
})
