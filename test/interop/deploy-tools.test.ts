/**
 * Tools of other parties read the files that start the services: helm and kubernetes-validate (which has the schemas of
 * Kubernetes with it) the chart, and hadolint the Dockerfile. Where a tool is not on this machine, its test says so and
 * is left out, unless VOUCHSAFE_TEST_HELM or VOUCHSAFE_TEST_HADOLINT is `required`.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../support/command.ts'
import { ROOT, snippetWith } from '../support/documents.ts'

const CHART = join(ROOT, 'deploy/helm/vouchsafe')
const PAGE = 'docs/how-to/containers.md'
const KUBERNETES = '1.34.0'

function run(tool: string, words: readonly string[], input = '') {
  const { status, stdout, stderr } = spawnSync(tool, words, { cwd: ROOT, input, encoding: 'utf8' })
  return { status, said: stdout + stderr, stdout }
}

const has = (tool: string, word: string): boolean => run(tool, [word]).status === 0

function leaveOut(tool: string, variable: string): void {
  it(`left out, since ${tool} is not on this machine`, () => {
    process.stderr.write(`NO ${tool.toUpperCase()}, NO TEST BY IT\n`)
    expect(process.env[variable]).not.toBe('required')
  })
}

/** Makes what the chart gives to Kubernetes, with `--set` for each of the values, over those of a file. */
const render = (values: readonly string[], more: readonly string[] = [], file = '') =>
  run(
    'helm',
    ['template', 'university', CHART, '--kube-version', KUBERNETES, '--values', '-', ...more].concat(
      values.flatMap((value) => ['--set', value]),
    ),
    file || '{}',
  )

const DATABASE = 'settings.VOUCHSAFE_DATABASE__URL=postgresql://database/issuer'
const JOB = ['--show-only', 'templates/job.yaml', '--set-json', 'job.args=["db","backup","/backup/issuer.db"]']
const charts: readonly (readonly [string, () => ReturnType<typeof render>])[] = [
  ['without any value', () => render([])],
  ['with the values of the page', () => render([], [], snippetWith(PAGE, 'service: issuer'))],
  ['for an engine', () => render(['service=engine', 'port=8400'])],
  ['for several processes', () => render(['replicas=3', 'persistence.enabled=false', DATABASE])],
  [
    'with every option',
    () =>
      render([
        ...['ingress.enabled=true', 'ingress.tlsSecretName=tls', 'trustAnchors.configMap.name=anchors'],
        ...['networkPolicy.metricsFrom[0].podSelector.matchLabels.a=b', 'podAnnotations.a=b', 'nodeSelector.a=b'],
        ...['imagePullSecrets[0].name=pull', 'tolerations[0].operator=Exists'],
      ]),
  ],
  ['for a command', () => render([], JOB)],
]

if (!has('helm', 'version')) leaveOut('helm', 'VOUCHSAFE_TEST_HELM')
else {
  describe('helm', () => {
    it('finds nothing in the chart', () => {
      expect(run('helm', ['lint', '--strict', '--kube-version', KUBERNETES, CHART])).toMatchObject({ status: 0 })
    })

    it.each(charts)('makes something of the chart %s', (_, make) => {
      expect(make()).toMatchObject({ status: 0 })
    })

    it.each([
      ['several processes without a database', ['replicas=2', 'persistence.enabled=false'], 'VOUCHSAFE_DATABASE__URL'],
      ['several processes on a volume', ['replicas=2', DATABASE], 'a volume belongs to one process'],
      ['several engines', ['service=engine', 'replicas=2', 'persistence.enabled=false', DATABASE], 'an engine is one'],
      ['a service of another name', ['service=issuers'], "value must be one of 'issuer', 'verifier', 'engine'"],
    ])('refuses %s, and says what to set', (_, values, sentence) => {
      const { status, said } = render(values)
      expect(status).toBe(1)
      expect(said).toContain(sentence)
    })

    it('takes the word of the operator that server.json names the database', () => {
      expect(render(['replicas=2', 'persistence.enabled=false', 'databaseInFile=true']).status).toBe(0)
    })

    it.each([
      ['HTTP', []],
      ['HTTPS', ['settings.VOUCHSAFE_TLS__KEY_FILE=conf/tls.key']],
      ['HTTPS', ['tlsInFile=true']],
    ])('has probes that ask by %s with %j', (scheme, values) => {
      expect([...render(values).stdout.matchAll(/scheme: (\w+)/g)].map(([, each]) => each)).toEqual(
        Array(3).fill(scheme),
      )
    })

    it.each<[string, readonly string[], readonly string[]]>([
      ['a verifier with trust anchors', ['service=verifier'], ['trust-anchors']],
      ['a verifier that names others', ['service=verifier', 'settings.VOUCHSAFE_ISSUER_TRUST_ANCHORS=x'], ['x']],
      ['an issuer', [], []],
    ])('has the setting of trust anchors for %s', (_, values, expected) => {
      const { stdout } = render(['trustAnchors.configMap.name=anchors', ...values])
      const setting = /VOUCHSAFE_ISSUER_TRUST_ANCHORS\n\s+value: "?([\w-]+)/g
      expect([...stdout.matchAll(setting)].map(([, value]) => value)).toEqual(expected)
    })

    it('has a word for the files of the secret in the pod, so that an upgrade with others makes other pods', () => {
      expect(render([]).stdout).toMatch(/checksum\/conf: "?[\da-f]{64}/)
    })
  })
}

if (!has('helm', 'version') || !has('kubernetes-validate', '--help')) {
  leaveOut('helm or kubernetes-validate', 'VOUCHSAFE_TEST_HELM')
} else {
  it.each(charts)('kubernetes-validate finds nothing in the chart %s', (_, make) => {
    const file = join(temporaryDirectory(), 'chart.yaml')
    // The program wants a name, which Kubernetes makes for a job.
    writeFileSync(file, make().stdout.replace(/generateName: (\S+)-$/m, 'name: $1'))
    const { status, said } = run('kubernetes-validate', ['-k', KUBERNETES.replace(/\.\d+$/, ''), '--strict', file])
    expect({ status, said }).toMatchObject({ status: 0 })
    expect(said).toMatch(/passed/)
    expect(said).not.toMatch(/ERROR/)
  })
}

if (!has('hadolint', '--version')) leaveOut('hadolint', 'VOUCHSAFE_TEST_HADOLINT')
else {
  it('hadolint finds nothing in the Dockerfile', () => {
    expect(run('hadolint', ['-'], readFileSync(join(ROOT, 'Dockerfile'), 'utf8'))).toEqual({
      status: 0,
      said: '',
      stdout: '',
    })
  })
}
