import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import type { Store } from '../../store/store.ts'
import { type CommitObserver, observeCommits, registerOutcomeMetrics } from './outcome-metrics.ts'

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
