import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import type { Store } from '../../store/store.ts'
import { createStepTimer } from './step-metrics.ts'

it('times reads, commits and named steps, also those that fail', async () => {
  const registry = new Registry()
  const { timeSteps, timeStore } = createStepTimer('i_', registry)
  const store = { get: () => Promise.resolve('row'), commit: () => Promise.reject(new Error('full')) }
  const timed = timeStore(store as unknown as Store<Record<string, unknown>>)
  expect(await timed.get('a', 'b')).toBe('row')
  await expect(timed.commit([])).rejects.toThrow('full')
  expect(await timeSteps(undefined)('sign', () => Promise.resolve(1))).toBe(1)
  const text = await registry.metrics()
  for (const step of ['read', 'commit', 'sign']) expect(text).toContain(`i_step_seconds_count{step="${step}"} 1\n`)
})
