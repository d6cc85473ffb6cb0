/** The metrics of all workers of a service, added up in the primary process. */
import type { Worker } from 'node:cluster'
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { MeasuredMetric, MetricsSource } from '../../http/metrics-server.ts'
import type { ListeningFacts, MessageOfWorker, MessageToWorker } from './worker.ts'

export interface MeasuredWorker {
  readonly number: number
  readonly worker: Worker
  /** Absent if the worker ended before it listened. */
  facts?: ListeningFacts
  readonly ended: Promise<unknown>
}

type Metrics = readonly MeasuredMetric[]

/** The time limit for a worker to send its metrics. */
const MEASURE_MS = 5000

/**
 * Creates the metrics of the workers in `running`, each aggregated as it defines. Counters do not fall: those of a
 * worker that has ended or does not answer stay as it sent them last. The code is loaded with the first request.
 */
export function addUpMetrics(running: ReadonlySet<MeasuredWorker>, log: Logger): MetricsSource {
  let lastQuestion = 0
  const reportSilent = createSilenceLog(log)
  const counters = createCounterMemory()
  return {
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
    metrics: async () => {
      const { mergeMetrics } = await import('../metrics/service-metrics.ts')
      const listening = [...running].filter(({ facts }) => facts !== undefined)
      const answers = new Map<MeasuredWorker, Metrics>()
      const ask = async (worker: MeasuredWorker): Promise<void> => {
        const answer = await measureWorker(worker, ++lastQuestion)
        if (answer !== undefined) answers.set(worker, answer)
      }
      await Promise.all(listening.map(ask))
      const silent = listening.filter((worker) => running.has(worker) && !answers.has(worker))
      reportSilent(silent)
      const metrics = [...answers.values()]
      if (metrics.length === 0) throw new Error('no worker gives its metrics')
      const unready = silent.length === 0 ? [] : [makeUnready(metrics[0] ?? [])]
      return mergeMetrics([...metrics, ...(await counters.take(answers, running)), ...unready])
    },
  }
}

/** Creates the function that logs each worker that does not answer, once until it answers again. */
function createSilenceLog(log: Logger): (silent: readonly MeasuredWorker[]) => void {
  let silentBefore: readonly MeasuredWorker[] = []
  return (silent) => {
    for (const { number, worker } of silent.filter((each) => !silentBefore.includes(each))) {
      const line = { event: 'worker_silent', worker: number, pid: worker.process.pid }
      log.error(line, 'a worker does not give its metrics: it hangs; kill the process pid, and another follows')
    }
    silentBefore = silent
  }
}

interface CounterMemory {
  /** Keeps the counters of all answers. Returns those of the workers that have not answered, or have ended. */
  take(answers: ReadonlyMap<MeasuredWorker, Metrics>, running: ReadonlySet<MeasuredWorker>): Promise<readonly Metrics[]>
}

function createCounterMemory(): CounterMemory {
  const last = new Map<MeasuredWorker, Metrics>()
  let ofEnded: Metrics = []
  return {
    take: async (answers, running) => {
      const { sumMetrics } = await import('../metrics/service-metrics.ts')
      for (const [worker, metrics] of answers) last.set(worker, metrics.filter(isCumulative))
      const others = [...last].filter(([worker]) => !answers.has(worker))
      for (const [worker, metrics] of others.filter(([each]) => !running.has(each))) {
        last.delete(worker)
        ofEnded = await sumMetrics([ofEnded, metrics])
      }
      return [ofEnded, ...others.filter(([worker]) => running.has(worker)).map(([, metrics]) => metrics)]
    },
  }
}

function isCumulative({ type }: MeasuredMetric): boolean {
  return ['counter', 'histogram'].includes(String(type))
}

/** Returns the gauge of readiness of a worker as one that is not ready has it. */
function makeUnready(metrics: Metrics): Metrics {
  return metrics
    .filter(({ name }) => /^vouchsafe_[a-z]+_ready$/.test(name))
    .map((metric) => ({ ...metric, values: metric.values.map((each) => ({ ...each, value: 0 })) }))
}

/** Requests the metrics of a worker; undefined if it ends meanwhile, or after a time limit. */
async function measureWorker({ worker, ended }: MeasuredWorker, measure: number): Promise<Metrics | undefined> {
  const late = new AbortController()
  const answer = new Promise<Metrics>((resolve) => {
    const onMessage = (message: MessageOfWorker): void => {
      if (!('measured' in message && message.measured === measure)) return
      resolve(message.metrics)
    }
    worker.on('message', onMessage)
    late.signal.addEventListener('abort', () => worker.off('message', onMessage))
  })
  const timeout = wait(MEASURE_MS, undefined, { signal: late.signal }).catch(() => undefined)
  sendToWorker(worker, { measure })
  try {
    return await Promise.race([answer, ended.then(() => undefined), timeout])
  } finally {
    late.abort()
  }
}

export function sendToWorker(worker: Worker, message: MessageToWorker): void {
  // A message to an ended worker is lost; the event `exit` reports its end.
  worker.send(message, undefined, undefined, () => undefined)
}
