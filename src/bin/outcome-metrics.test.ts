import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import type { CallbackCollections } from '../callback/queue.ts'
import type { Store } from '../store/store.ts'
import { mergeMetrics } from './metrics.ts'
import {
  type CommitObserver,
  observeCommits,
  registerCallbackMetrics,
  registerOutcomeMetrics,
} from './outcome-metrics.ts'

type Changes = Parameters<CommitObserver>[0]

const event = (type: string) => ({ insert: 'event', id: 'a', value: { type, at: 1 } })
const check = (id: string, outcome: string) => ({ id, outcome, reason: '' })
const report = {
  verified: false,
  checks: [check('response.state', 'passed')],
  credentials: {
    first: [{ checks: [check('holder.nonce', 'failed'), check('issuer.trusted', 'skipped')] }],
    second: [{ checks: [check('holder.nonce', 'failed'), check('status.valid', 'failed')] }],
  },
}
const ended = { update: 'verification_session', id: 'a', version: 1, value: { outcome: { report } } }

describe('the metrics of outcomes', () => {
  it('count events by type, and the checks of a verification that failed, each once', async () => {
    const registry = new Registry()
    const observe = registerOutcomeMetrics('verifier', 'v_', registry)
    observe([ended, event('verification.failed')])
    observe([event('verification.started'), event('verification.started')])
    // A session that is shortened later does not fail again.
    observe([ended])
    const text = await registry.metrics()
    expect(text).toContain('v_events_total{type="verification.failed"} 1\n')
    expect(text).toContain('v_events_total{type="verification.started"} 2\n')
    expect(text).toContain('v_events_total{type="verification.succeeded"} 0\n')
    expect(text.match(/failed_checks_total\{.*/g)).toEqual([
      'failed_checks_total{check="holder.nonce"} 1',
      'failed_checks_total{check="status.valid"} 1',
    ])
    expect(text).not.toMatch(/issuance/)
  })

  it.each([
    ['issuer', 'audit callback configuration issuance credential'],
    ['verifier', 'audit callback query presentation verification'],
  ] as const)('of the %s begin at 0 for each event that it may record', async (name, subjects) => {
    const registry = new Registry()
    registerOutcomeMetrics(name, 'a_', registry)
    const counted = (await registry.metrics()).matchAll(/^a_events_total\{type="([a-z]+)\.[a-z]+"\} 0$/gm)
    expect([...new Set([...counted].map(([, subject]) => subject))]).toEqual(subjects.split(' '))
  })

  it('are told of what was committed, and of nothing that met a conflict', async () => {
    const told: unknown[] = []
    const [good, bad] = [[event('issuance.started')], [event('issuance.denied')]] as unknown as [Changes, Changes]
    const store = { commit: (changes: Changes) => Promise.resolve(changes === bad ? changes[0] : undefined) }
    const observed = observeCommits(store as unknown as Store<Record<string, unknown>>, (changes) => told.push(changes))
    expect(await observed.commit(good)).toBe(undefined)
    expect(await observed.commit(bad)).toBe(bad[0])
    expect(told).toEqual([good])
  })
})

describe('the metrics of callbacks', () => {
  const measured = (listDue: Store<CallbackCollections>['listDue']) => {
    const registry = new Registry()
    const times = { now: new Date(100_000), looks: 0 }
    const store = {
      listDue: (...args: Parameters<typeof listDue>) => {
        times.looks++
        return listDue(...args)
      },
    }
    registerCallbackMetrics(
      'i_',
      registry,
      () => store as unknown as Store<CallbackCollections>,
      () => times.now,
    )
    return { registry, times }
  }

  it('count those that wait and those that are dead, and look again after five seconds', async () => {
    const rows = { callback: [{ value: { events: [{ queuedAt: 40_000 }] } }], dead_callback: [{}, {}] }
    const { registry, times } = measured(((name: keyof typeof rows) => Promise.resolve(rows[name])) as never)
    const text = await registry.metrics()
    expect(text).toContain('i_callbacks{state="waiting"} 1\ni_callbacks{state="dead"} 2\n')
    expect(text).toContain('i_callback_oldest_seconds{state="waiting"} 60\n')
    expect(times.looks).toBe(2)
    await registry.metrics()
    expect(times.looks).toBe(2)
    rows.callback = []
    times.now = new Date(106_000)
    expect(await registry.metrics()).toContain('i_callback_oldest_seconds{state="waiting"} 0\n')
  })

  it('are those of the database, and not of each process that counts them', async () => {
    const rows = { callback: [{ value: { events: [{ queuedAt: 40_000 }] } }], dead_callback: [{}, {}] }
    const ofProcesses = Array.from({ length: 2 }, async () => {
      const { registry } = measured(((name: keyof typeof rows) => Promise.resolve(rows[name])) as never)
      const observe = registerOutcomeMetrics('issuer', 'i_', registry)
      observe([event('issuance.started')])
      return registry.getMetricsAsJSON()
    })
    const text = await mergeMetrics(await Promise.all(ofProcesses))
    expect(text).toContain('i_callbacks{state="waiting"} 1\ni_callbacks{state="dead"} 2\n')
    expect(text).toContain('i_callback_oldest_seconds{state="waiting"} 60\n')
    expect(text).toContain('i_events_total{type="issuance.started"} 2\n')
  })

  it('are left out while the database cannot be read', async () => {
    const { registry } = measured(() => Promise.reject(new Error('gone')))
    const text = await registry.metrics()
    expect(text).toContain('# TYPE i_callbacks gauge\n')
    expect(text).not.toMatch(/^i_callback/m)
  })
})
