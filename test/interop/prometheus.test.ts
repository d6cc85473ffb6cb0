/**
 * Prometheus reads the metrics of both services, and has something to say to each query of the dashboard and of the
 * rules. Where there is no Prometheus, the tests say so and are left out.
 */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { rows } from '../../build/dashboard-panels.ts'
import { ROOT } from '../support/documents.ts'
import { freePort } from '../support/free-port.ts'
import { servicesAt } from '../support/remembering-client.ts'
import { endService, type Running, serviceDirectory, start } from '../support/service-process.ts'
import { API_KEY, ISSUER_URL } from '../support/services.ts'
import { issueWithStatus, readList } from '../support/status.ts'
import { configuration, dcqlQuery } from '../support/wire.ts'

const [PROMETHEUS, PROMTOOL] = ['/usr/bin/prometheus', '/usr/bin/promtool']
const RULES = join(ROOT, 'deploy/prometheus-rules.yaml')
const SERVICES = ['issuer', 'verifier'] as const

interface Answer {
  readonly status: string
  readonly data: { readonly result: readonly unknown[]; readonly groups: readonly Group[] }
}

interface Group {
  readonly rules: readonly { readonly name: string; readonly health: string }[]
}

async function post({ url }: Running, path: string, body: string, type: string): Promise<Response> {
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': type }
  return fetch(url + path, { method: 'POST', headers, body })
}

const postJson = (service: Running, path: string, value: unknown): Promise<Response> =>
  post(service, path, JSON.stringify(value), 'application/json')

/** Has requests that go well, one that is refused, and a presentation of which a check fails. */
async function useServices([issuer, verifier]: readonly Running[]): Promise<void> {
  if (issuer === undefined || verifier === undefined) throw new Error('a service is missing')
  await postJson(issuer, '/credential-configuration/create', configuration)
  await postJson(issuer, '/credential-configuration/create', { wrong: 1 })
  const queryId = await (await postJson(verifier, '/verification-query/create', { dcql_query: dcqlQuery })).text()
  const started = await postJson(verifier, '/presentation/oid4vp/new-session', { verification_query_id: queryId })
  const { session_id: id } = (await started.json()) as { readonly session_id: string }
  const jwt = await (await fetch(`${verifier.url}/presentation/oid4vp/authorization-request/${id}`)).text()
  const request = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString()) as {
    readonly response_uri: string
    readonly state: string
  }
  const path = new URL(request.response_uri).pathname
  const form = new URLSearchParams({
    vp_token: JSON.stringify({ [dcqlQuery.credentials[0]?.id ?? '']: ['e30.e30.AA~'] }),
    state: request.state,
  })
  await post(verifier, path, form.toString(), 'application/x-www-form-urlencoded')
}

if (!existsSync(PROMETHEUS)) {
  it('left out, since no Prometheus is on this machine', () => {
    process.stderr.write(
      'NO PROMETHEUS, NO TEST OF THE DASHBOARD: install one, such as by apt-get install prometheus\n',
    )
    expect(process.env.VOUCHSAFE_TEST_PROMETHEUS).not.toBe('required')
  })
} else {
  describe('Prometheus', () => {
    let services: readonly Running[]
    let ask: (path: string) => Promise<Answer>
    const query = (expr: string): Promise<Answer> => ask(`query?query=${encodeURIComponent(expr)}`)

    beforeAll(async () => {
      services = await Promise.all(
        SERVICES.map(async (name) => {
          const settings = { management: { port: 0 }, ...(name === 'issuer' && { baseUrl: ISSUER_URL }) }
          return start(name, await serviceDirectory(name, settings))
        }),
      )
      const targets = services.map(({ listening }) => `127.0.0.1:${String(listening.managementPort)}`)
      const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-prometheus-'))
      const config = join(directory, 'prometheus.yml')
      const scrape = [{ job_name: 'vouchsafe', scrape_interval: '500ms', static_configs: [{ targets }] }]
      writeFileSync(
        config,
        JSON.stringify({ global: { evaluation_interval: '1s' }, rule_files: [RULES], scrape_configs: scrape }),
      )
      const address = `127.0.0.1:${await freePort()}`
      const args = [`--config.file=${config}`, `--storage.tsdb.path=${directory}`, `--web.listen-address=${address}`]
      const prometheus = spawn(PROMETHEUS, args, { stdio: 'ignore' })
      ask = async (path) => (await fetch(`http://${address}/api/v1/${path}`)).json() as Promise<Answer>
      const isScraping = async () => {
        if (prometheus.exitCode !== null) throw new Error(`Prometheus ended; try promtool check config ${config}`)
        return (await query('sum(up)').catch(() => undefined))?.data.result.length
      }
      await vi.waitUntil(isScraping, { timeout: 600_000, interval: 200 })
      await useServices(services)
      const issuer = servicesAt(() => services[0]?.url ?? '')
      await readList(issuer, (await issueWithStatus(issuer)).status.uri)
      return async () => {
        prometheus.kill('SIGKILL')
        await Promise.all(services.map((service) => endService(service, 'SIGTERM')))
      }
    })

    const panels = rows.flatMap(({ title, panels: all }) => all.map((panel) => [title, panel.title, panel] as const))
    it.each(panels)('answers what the dashboard asks: %s, %s', async (title, _, panel) => {
      const asked = panel.expr.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '1m')
      // Here is no engine, no PostgreSQL, no token and no failure: Prometheus reads the queries about them alone.
      const isEnough = ({ status, data }: Answer) =>
        status === 'success' &&
        (/engines|PostgreSQL|tokens|tasks/.test(`${title} ${panel.title}`) || data.result.length > 0)
      // A rate shows only what grew between two readings of the metrics.
      const use = async () => useServices(services)
      await vi.waitUntil(async () => isEnough(await query(asked)) || use(), { timeout: 300_000, interval: 500 })
    })

    it('evaluates every rule', async () => {
      const count = readFileSync(RULES, 'utf8').match(/- alert:/g)?.length
      const health = async () =>
        (await ask('rules')).data.groups.flatMap((group) => group.rules.map((rule) => rule.health))
      await expect.poll(health).toEqual(Array.from({ length: count ?? 0 }, () => 'ok'))
    })

    it('finds nothing wrong with the rules, by its own tool', () => {
      expect(execFileSync(PROMTOOL, ['check', 'rules', RULES], { encoding: 'utf8' })).toContain('SUCCESS')
    })
  })
}
