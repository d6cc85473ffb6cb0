import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import type { CallbackCollections } from '../../callback/queue.ts'
import type { Store } from '../../store/store.ts'
import { mergeMetrics } from './service-metrics.ts'
import {
  registerCallbackMetrics,
  registerCertificateMetrics,
  registerLogMetrics,
  registerPkcs11KeyMetrics,
  registerReadinessMetrics,
  registerSessionMetrics,
  registerTaskMetrics,
} from './state-metrics.ts'

const now = new Date('2026-11-26T12:00:00Z')
const inDays = (days: number) => ({ notAfter: new Date(now.getTime() + days * 86_400_000) })

describe('the metrics of the state of a service', () => {
  it('say of each setting which of its certificates ends first, by what the certificate is', async () => {
    const registry = new Registry()
    registerCertificateMetrics(
      'v_',
      registry,
      () => [
        { key: 'signing', certificate: 'own', ...inDays(2) },
        { key: 'signing', certificate: 'intermediate', ...inDays(9) },
        { key: 'signing', certificate: 'intermediate', ...inDays(8) },
        { key: 'issuerTrustAnchors', certificate: 'anchor', ...inDays(-1) },
      ],
      () => now,
    )
    const text = await registry.metrics()
    expect(text.match(/^v_certificate.*/gm)).toEqual([
      'v_certificate_expires_seconds{key="signing",certificate="intermediate"} 691200',
      'v_certificate_expires_seconds{key="signing",certificate="own"} 172800',
      'v_certificate_expires_seconds{key="issuerTrustAnchors",certificate="anchor"} -86400',
    ])
  })

  it('say whether each key in a token signs, and with several workers whether it does in all', async () => {
    const registries = [true, false].map((signs) => {
      const registry = new Registry()
      const states = new Map([
        ['signing', true],
        ['keys.audit', signs],
      ])
      registerPkcs11KeyMetrics('v_', registry, () => states)
      return registry
    })
    const text = await mergeMetrics(await Promise.all(registries.map((registry) => registry.getMetricsAsJSON())))
    expect(text.match(/^v_token.*/gm)).toEqual([
      'v_token_key_signs{key="signing"} 1',
      'v_token_key_signs{key="keys.audit"} 0',
    ])
  })

  it('say whether the service is ready, also while its database says nothing', async () => {
    const registry = new Registry()
    let check = (): Promise<void> => Promise.resolve()
    registerReadinessMetrics('v_', registry, () => check(), 20)
    expect(await registry.metrics()).toContain('\nv_ready 1\n')
    check = () => Promise.reject(new Error('read-only'))
    expect(await registry.metrics()).toContain('\nv_ready 0\n')
    check = () => new Promise(() => undefined)
    expect(await registry.metrics()).toContain('\nv_ready 0\n')
  })

  it('count the lines that the log dropped', async () => {
    const registry = new Registry()
    const counts = { dropped: 0 }
    registerLogMetrics('v_', registry, counts)
    expect(await registry.metrics()).toContain('\nv_log_lines_dropped_total 0\n')
    counts.dropped = 7
    expect(await registry.metrics()).toContain('\nv_log_lines_dropped_total 7\n')
  })

  it('count the rounds of tasks that failed', async () => {
    const registry = new Registry()
    registerTaskMetrics('v_', registry, new Map([['events', 3]]))
    expect(await registry.metrics()).toContain('\nv_task_failures_total{task="events"} 3\n')
  })

  it('count the newest sessions by state, and look again after ten seconds', async () => {
    const registry = new Registry()
    const times = { now, looks: 0 }
    let states = ['STARTED', 'EXPIRED', 'STARTED']
    const newest = (limit: number) => {
      times.looks++
      expect(limit).toBe(100)
      return Promise.resolve(states)
    }
    registerSessionMetrics('v_', registry, newest, () => times.now)
    const text = await registry.metrics()
    expect(text).toContain('v_sessions{state="STARTED"} 2\nv_sessions{state="EXPIRED"} 1\n')
    states = []
    expect(await registry.metrics()).toContain('v_sessions{state="STARTED"} 2')
    expect(times.looks).toBe(1)
    times.now = new Date(now.getTime() + 11_000)
    expect(await registry.metrics()).not.toMatch(/^v_sessions/m)
  })

  it('leave sessions out while they cannot be read', async () => {
    const registry = new Registry()
    registerSessionMetrics(
      'v_',
      registry,
      () => Promise.reject(new Error('gone')),
      () => now,
    )
    expect(await registry.metrics()).not.toMatch(/^v_sessions/m)
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
    registerCallbackMetrics('i_', registry, store as unknown as Store<CallbackCollections>, () => times.now)
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
      registerTaskMetrics('i_', registry, new Map([['sweep', 1]]))
      return registry.getMetricsAsJSON()
    })
    const text = await mergeMetrics(await Promise.all(ofProcesses))
    expect(text).toContain('i_callbacks{state="waiting"} 1\ni_callbacks{state="dead"} 2\n')
    expect(text).toContain('i_callback_oldest_seconds{state="waiting"} 60\n')
    expect(text).toContain('i_task_failures_total{task="sweep"} 2\n')
  })

  it.each([
    ['cannot be read', () => Promise.reject(new Error('gone'))],
    ['does not answer', () => new Promise<never>(() => undefined)],
  ])('are left out while the database %s', async (_, listDue) => {
    const { registry } = measured(listDue)
    const text = await registry.metrics()
    expect(text).toContain('# TYPE i_callbacks gauge\n')
    expect(text).not.toMatch(/^i_callback/m)
  })
})
