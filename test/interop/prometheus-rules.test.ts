/**
 * Each alert rule fires where it should and not where all is well, by the tool that comes with Prometheus. Where there
 * is none, the tests say so and are left out.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../support/documents.ts'

const PROMTOOL = '/usr/bin/promtool'
const RULES = join(ROOT, 'deploy/prometheus-rules.yaml')
const PAGE = join(ROOT, 'docs/how-to/production.md')

/** Values of series over time, a value each minute, in the notation of Prometheus: `0+60x60` grows by 60 a minute. */
type Series = Readonly<Record<string, string>>

interface Case {
  readonly alert: string
  readonly fires: Series
  readonly staysQuiet: Series
}

const INSTANCE = 'instance="a",job="vouchsafe"'
const events = (type: string): string => `vouchsafe_verifier_events_total{${INSTANCE},type="verification.${type}"}`
const constant = (value: number): string => `${value}x60`

const cases: readonly Case[] = [
  {
    alert: 'VouchsafeServiceDown',
    fires: { [`up{${INSTANCE}}`]: constant(0) },
    staysQuiet: { [`up{${INSTANCE}}`]: constant(1), 'up{instance="b",job="another"}': constant(0) },
  },
  {
    alert: 'VouchsafeMissing',
    // A deployment without pods has no target, so that nothing says of it that it is down.
    fires: { 'up{instance="b",job="another"}': constant(1) },
    staysQuiet: { [`up{${INSTANCE}}`]: '1x50 0 0 0 1x10' },
  },
  {
    alert: 'VouchsafeNotReady',
    fires: { [`vouchsafe_issuer_ready{${INSTANCE}}`]: constant(0) },
    // A database that restarts takes a moment.
    staysQuiet: { [`vouchsafe_issuer_ready{${INSTANCE}}`]: '1x54 0 1 1 1 1 1' },
  },
  {
    alert: 'VouchsafeCertificateEnds',
    fires: {
      [`vouchsafe_verifier_certificate_expires_seconds{${INSTANCE},key="issuerTrustAnchors",certificate="anchor"}`]:
        constant(86_400),
    },
    // The certificate of a key that was replaced may end.
    staysQuiet: {
      [`vouchsafe_issuer_certificate_expires_seconds{${INSTANCE},key="signing",certificate="own"}`]:
        constant(8_640_000),
      [`vouchsafe_issuer_certificate_expires_seconds{${INSTANCE},key="signing.previous[0]",certificate="own"}`]:
        constant(-86_400),
    },
  },
  {
    alert: 'VouchsafeCertificateEnds',
    fires: {
      [`vouchsafe_verifier_certificate_expires_seconds{${INSTANCE},key="tls",certificate="own"}`]: constant(-60),
    },
    // Checkpoints of the audit log are verified by the key of their certificate, whose end changes nothing.
    staysQuiet: {
      [`vouchsafe_verifier_certificate_expires_seconds{${INSTANCE},key="keys.audit",certificate="own"}`]: constant(-60),
    },
  },
  {
    alert: 'VouchsafeCertificateEnded',
    fires: {
      [`vouchsafe_issuer_certificate_expires_seconds{${INSTANCE},key="signing",certificate="own"}`]: '1800-60x60',
    },
    staysQuiet: {
      [`vouchsafe_issuer_certificate_expires_seconds{${INSTANCE},key="signing",certificate="own"}`]: constant(60),
      [`vouchsafe_issuer_certificate_expires_seconds{${INSTANCE},key="signing.previous[0]",certificate="own"}`]:
        constant(-60),
      [`vouchsafe_issuer_certificate_expires_seconds{${INSTANCE},key="keys.audit",certificate="own"}`]: constant(-60),
      // The anchor that took its place may stand beside it.
      [`vouchsafe_verifier_certificate_expires_seconds{${INSTANCE},key="issuerTrustAnchors",certificate="anchor"}`]:
        constant(-60),
    },
  },
  {
    alert: 'VouchsafeCertificateEnded',
    fires: {
      [`vouchsafe_engine_certificate_expires_seconds{${INSTANCE},key="tls",certificate="intermediate"}`]: constant(-60),
    },
    staysQuiet: {
      [`vouchsafe_engine_certificate_expires_seconds{${INSTANCE},key="tls",certificate="own"}`]: constant(60),
    },
  },
  {
    alert: 'VouchsafeTokenKeyLost',
    fires: { [`vouchsafe_issuer_token_key_signs{${INSTANCE},key="signing"}`]: constant(0) },
    // A token that is restarted is away for a moment.
    staysQuiet: { [`vouchsafe_issuer_token_key_signs{${INSTANCE},key="signing"}`]: '1x58 0' },
  },
  {
    alert: 'VouchsafeStatusListsEnd',
    fires: { [`vouchsafe_issuer_status_list_expires_seconds{${INSTANCE}}`]: constant(3600) },
    staysQuiet: { [`vouchsafe_issuer_status_list_expires_seconds{${INSTANCE}}`]: constant(43_200) },
  },
  {
    alert: 'VouchsafeTrustListEnds',
    fires: { [`vouchsafe_verifier_trust_list_ends_seconds{${INSTANCE},list="a"}`]: constant(3600) },
    // A list that is fetched when the service has just started, and one that is signed anew in time.
    staysQuiet: {
      [`vouchsafe_verifier_trust_list_ends_seconds{${INSTANCE},list="b"}`]: '0x2 604800x58',
      [`vouchsafe_verifier_trust_list_ends_seconds{${INSTANCE},list="c"}`]: constant(90_000),
    },
  },
  {
    alert: 'VouchsafeServerErrors',
    fires: { [`vouchsafe_issuer_http_requests_total{${INSTANCE},route="/a",status="500"}`]: '0+6x60' },
    staysQuiet: {
      [`vouchsafe_issuer_http_requests_total{${INSTANCE},route="/a",status="400"}`]: '0+6x60',
      [`vouchsafe_issuer_http_requests_total{${INSTANCE},route="/a",status="500"}`]: constant(6),
      // Anybody may ask for a status list of the past.
      [`vouchsafe_issuer_http_requests_total{${INSTANCE},route="/a",status="501"}`]: '0+6x60',
    },
  },
  {
    alert: 'VouchsafeServerErrors',
    fires: { [`vouchsafe_engine_http_answers_total{${INSTANCE},status="500",error="server-error"}`]: '0+6x60' },
    staysQuiet: {
      [`vouchsafe_engine_http_answers_total{${INSTANCE},status="404",error="not-found"}`]: '0+6x60',
      // Any caller may find a mistake of a component, or come while the chain stands still.
      [`vouchsafe_engine_http_answers_total{${INSTANCE},status="500",error="component-trap"}`]: '0+6x60',
      [`vouchsafe_engine_http_answers_total{${INSTANCE},status="503",error="stale-chain"}`]: '0+6x60',
    },
  },
  {
    alert: 'VouchsafeApiKeysTried',
    // By the settings of the page one address has so many keys refused; further requests are `too_many_requests`.
    fires: { [`vouchsafe_issuer_http_refusals_total{${INSTANCE},route="/a",error="unauthorized"}`]: '0+20x60' },
    staysQuiet: {
      [`vouchsafe_issuer_http_refusals_total{${INSTANCE},route="/a",error="unauthorized"}`]: '0+6x60',
      [`vouchsafe_issuer_http_refusals_total{${INSTANCE},route="/a",error="invalid_request"}`]: '0+120x60',
    },
  },
  {
    alert: 'VouchsafeConflictsGivenUp',
    fires: { [`vouchsafe_verifier_store_conflicts_total{${INSTANCE},end="given_up"}`]: '0+6x60' },
    staysQuiet: { [`vouchsafe_verifier_store_conflicts_total{${INSTANCE},end="retried"}`]: '0+6x60' },
  },
  {
    alert: 'VouchsafeCallbacksWait',
    fires: { [`vouchsafe_issuer_callback_oldest_seconds{${INSTANCE},state="waiting"}`]: '0+60x60' },
    staysQuiet: { [`vouchsafe_issuer_callback_oldest_seconds{${INSTANCE},state="waiting"}`]: constant(60) },
  },
  {
    alert: 'VouchsafeCallbacksDead',
    fires: { [`vouchsafe_issuer_callbacks{${INSTANCE},state="dead"}`]: constant(1) },
    staysQuiet: {
      [`vouchsafe_issuer_callbacks{${INSTANCE},state="dead"}`]: constant(0),
      [`vouchsafe_issuer_callbacks{${INSTANCE},state="waiting"}`]: constant(9),
    },
  },
  {
    alert: 'VouchsafeVerificationsFail',
    fires: { [events('failed')]: '0+60x60', [events('succeeded')]: '0+6x60' },
    staysQuiet: { [events('failed')]: '0+12x60', [events('succeeded')]: '0+60x60' },
  },
  {
    alert: 'VouchsafeVerificationsFail',
    fires: { [events('failed')]: '0+60x60', [events('succeeded')]: constant(0) },
    // A verification that fails now and then is not a pattern.
    staysQuiet: { [events('failed')]: '0x9 1x9 2x9 3x9 4x9 5x9', [events('succeeded')]: constant(0) },
  },
  {
    alert: 'VouchsafeVerificationsFail',
    // A small verifier: twenty an hour, all of which fail.
    fires: {
      [events('failed')]: '0x2 1x2 2x2 3x2 4x2 5x2 6x2 7x2 8x2 9x2 10x2 11x2 12x2 13x2 14x2 15x2 16x2 17x2 18x2 19x2',
      [events('succeeded')]: constant(0),
    },
    staysQuiet: { [events('failed')]: '0x9 1x9 2x9 3x9 4x9 5x9', [events('succeeded')]: '0+1x60' },
  },
  {
    alert: 'VouchsafeLogLinesDropped',
    fires: { [`vouchsafe_engine_log_lines_dropped_total{${INSTANCE}}`]: '0+6x60' },
    staysQuiet: { [`vouchsafe_engine_log_lines_dropped_total{${INSTANCE}}`]: constant(6) },
  },
  {
    alert: 'VouchsafeUpkeepFails',
    fires: { [`vouchsafe_issuer_task_failures_total{${INSTANCE},task="events"}`]: '0+180x60' },
    staysQuiet: { [`vouchsafe_issuer_task_failures_total{${INSTANCE},task="events"}`]: '0x20 3x40' },
  },
  {
    alert: 'VouchsafeEngineTransactionsWait',
    fires: { [`vouchsafe_engine_outbox_oldest_seconds{${INSTANCE}}`]: constant(3700) },
    // A transaction waits while its fee is raised.
    staysQuiet: { [`vouchsafe_engine_outbox_oldest_seconds{${INSTANCE}}`]: '0+60x50 0x10' },
  },
  {
    alert: 'VouchsafeEngineHooksDead',
    fires: { [`vouchsafe_engine_dead_hooks{${INSTANCE}}`]: constant(1) },
    staysQuiet: { [`vouchsafe_engine_dead_hooks{${INSTANCE}}`]: constant(0) },
  },
  {
    alert: 'VouchsafeEngineUnread',
    fires: { [`vouchsafe_engine_chain_unseen_seconds{${INSTANCE}}`]: '0+60x60' },
    staysQuiet: { [`vouchsafe_engine_chain_unseen_seconds{${INSTANCE}}`]: constant(3) },
  },
]

const alerts = [...readFileSync(RULES, 'utf8').matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name)

/** Makes a test of promtool: how many alerts of the name fire at the end of an hour of the series. */
function unitTest(alert: string, series: Series, firing: 0 | 1): object {
  const expected = {
    expr: `count(ALERTS{alertname="${alert}",alertstate="firing"})`,
    eval_time: '59m',
    exp_samples: firing === 0 ? [] : [{ labels: '{}', value: firing }],
  }
  const inputs = Object.entries(series).map(([name, values]) => ({ series: name, values }))
  return { interval: '1m', input_series: inputs, promql_expr_test: [expected] }
}

describe('the alert rules', () => {
  it('each have a case here, and a row of the page that says what to do', () => {
    expect([...new Set(cases.map(({ alert }) => alert))].sort()).toEqual([...alerts].sort())
    const rows = [...readFileSync(PAGE, 'utf8').matchAll(/^\| `(Vouchsafe\w+)` \|/gm)].map(([, name]) => name)
    expect(rows).toEqual(alerts)
  })

  it('each tell whoever is woken what to do, with paths in place of links', () => {
    const texts = readFileSync(RULES, 'utf8').matchAll(/^ {10}description: (.*)$/gm)
    const descriptions = [...texts].map(([, text = '']) => JSON.parse(text) as string)
    expect(descriptions).toHaveLength(alerts.length)
    for (const text of descriptions) expect(text).toMatch(/^[A-Z`]/)
    expect(descriptions.join('\n')).toContain('(docs/how-to/change-a-key.md#a-certificate-that-expires)')
    expect(descriptions.join('\n')).not.toContain('](')
  })

  if (!existsSync(PROMTOOL)) {
    it('are not evaluated, since no promtool is on this machine', () => {
      process.stderr.write('NO PROMTOOL, NO TEST OF THE RULES: install it, such as by apt-get install prometheus\n')
      expect(process.env.VOUCHSAFE_TEST_PROMETHEUS).not.toBe('required')
    })
  } else {
    it('fire where they should, and stay quiet where all is well', () => {
      const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-rules-'))
      const write = (name: string, text: string): string => {
        writeFileSync(join(directory, name), text)
        return name
      }
      // Each rule is in a file of its own, since promtool evaluates all rules of the files of a test.
      const [head = '', ...rules] = readFileSync(RULES, 'utf8').split(/^(?= {6}- alert:)/m)
      const files = alerts.map((name, at) => {
        const own = cases.filter(({ alert }) => alert === name)
        const tests = own.flatMap(({ fires, staysQuiet }) => [unitTest(name, fires, 1), unitTest(name, staysQuiet, 0)])
        const rule = write(`rule-${at}.yaml`, `${head}${rules[at] ?? ''}`)
        return write(`test-${at}.json`, JSON.stringify({ rule_files: [rule], evaluation_interval: '1m', tests }))
      })
      const run = (...words: string[]) => execFileSync(PROMTOOL, words, { cwd: directory, encoding: 'utf8' })
      expect(run('check', 'rules', RULES)).toContain(`SUCCESS: ${alerts.length} rules found`)
      expect(run('test', 'rules', ...files).match(/SUCCESS/g)).toHaveLength(alerts.length)
    })
  }
})
