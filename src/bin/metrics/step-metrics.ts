/** The durations of steps of requests: reads and commits of the store, signatures, and checks. */
import { Histogram, type Registry } from 'prom-client'
import type { InSpan } from '../../async/in-span.ts'
import type { Store } from '../../store/store.ts'

export interface StepTimer {
  /** Wraps the function that runs steps, to measure each by its name. */
  readonly timeSteps: (inSpan: InSpan | undefined) => InSpan
  /** Wraps a store, to measure its reads by id and its commits. */
  readonly timeStore: <C>(store: Store<C>) => Store<C>
}

/** Creates the histogram. An observation takes less than half a microsecond. */
export function createStepTimer(prefix: string, registry: Registry): StepTimer {
  const seconds = new Histogram({
    name: `${prefix}step_seconds`,
    help: 'Time of a step of requests: read and commit (the database), sign, check presentation',
    labelNames: ['step'],
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    registers: [registry],
  })
  const time = async <T>(step: string, work: () => Promise<T>): Promise<T> => {
    const startedAt = performance.now()
    try {
      return await work()
    } finally {
      seconds.observe({ step }, (performance.now() - startedAt) / 1000)
    }
  }
  return {
    timeSteps: (inSpan) => (name, work) => time(name, () => (inSpan === undefined ? work() : inSpan(name, work))),
    timeStore: (store) => ({
      ...store,
      get: (collection, id) => time('read', () => store.get(collection, id)),
      commit: (changes) => time('commit', () => store.commit(changes)),
    }),
  }
}
