/**
 * Writes the generated documents: docs/checks.md from the list of checks, docs/reference.md from the schemas that read
 * the configurations and validate the requests, docs/errors.md, docs/metrics.md, docs/performance.md and a part of
 * docs/explanation/a-country.md from bench/results/performance.json, docs/commands.md, docs/conformance.md from the
 * rows in test/conformance, the schemas of the client library, the dashboard for Grafana, and the descriptions in the
 * rules for Prometheus. With `--check` the script compares instead of writing, and fails when a page is not current.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { EngineSettings } from '../src/engine/config.ts'
import { openApi } from '../src/engine/openapi.ts'
import { clientChecks, clientReadingChecks } from '../src/issuer/access/client-checks.ts'
import { IssuerSettings } from '../src/issuer/config.ts'
import { allChecks } from '../src/verifier/checks/index.ts'
import { VerifierSettings } from '../src/verifier/config.ts'
import { conformance } from '../test/conformance/index.ts'
import type { Row, Section } from '../test/conformance/row.ts'
import { type Services, startServices } from '../test/support/services.ts'
import { describeAlerts } from './alerts.ts'
import { type ApiDocument, writeApiTypes } from './api-types.ts'
import { drawDashboard } from './dashboard.ts'
import { commandsPage } from './docs-commands.ts'
import { countryPage } from './docs-country.ts'
import { errorsPage } from './docs-errors.ts'
import { metricsPage } from './docs-metrics.ts'
import { performancePage } from './docs-performance.ts'
import { GENERATED } from './docs-text.ts'
import { readPublished } from './performance-results.ts'

interface Schema {
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly const?: unknown
  readonly minimum?: number
  readonly maximum?: number
}

interface Operation {
  readonly responses?: Readonly<Record<string, { readonly description?: string }>>
  readonly summary?: string
  readonly security?: readonly Record<string, unknown>[]
}

type Paths = Record<string, Record<string, Operation>>

function checksPage(): string {
  const rowsOf = (checks: readonly Record<'id' | 'asks' | 'spec' | 'level', string>[]): string =>
    checks.map(({ id, asks, spec, level }) => `| \`${id}\` | ${asks} | ${level} | ${spec} |`).join('\n')
  return `${GENERATED}
# Every check of a verification

On this page you find what a check of a report asks, by its id, and which specification asks it. A report lists each of these with its outcome: \`passed\`, \`failed\`, \`warning\` (a SHOULD that does not hold),
\`not_applicable\` (not asked, and why), or \`not_run\` (it depends on one that failed). A presentation is verified when no
check failed and none is \`not_run\`. Ids are stable; more may be added.

| check | asks | level | source |
|---|---|---|---|
${rowsOf(allChecks)}

## The checks of a wallet attestation

An issuer asks these about a wallet that [authenticates itself](how-to/authenticate-wallets.md). The refusal begins with the id of the
first check that failed; the log of the issuer has each that did not hold, in a line \`client_not_authenticated\` with the request id.

| check | asks | level | source |
|---|---|---|---|
${rowsOf([...clientReadingChecks, ...clientChecks])}
`
}

/**
 * Writes the page with the sums of the rows in test/conformance: by section, by specification, and what is not offered.
 */
function conformancePage(): string {
  const all = conformance.flatMap(({ rows }) => rows)
  return `${GENERATED}
# What others ask of Vouchsafe, and what shows it

On this page you see which demands of others are tested here, and find the test of each. ${all.length} items: the modules of the OpenID Foundation's conformance suite, the security considerations of the specifications, defects that
other products shipped, and the rules of the HTTP interface. This page has the sums, and the modules of the suite by their names; the rows, each with
the tests that show it, are data in the files linked below. [conformance.test.ts](../test/conformance/conformance.test.ts) fails when a test that a row names is gone or skipped, and when a
row has neither a test nor a reason why it is not offered. Every check of a verification has an attack of its own beside these rows ([checks.md](checks.md)).

## By the suite itself

The OpenID Foundation's conformance suite, version 5.2.4 (revision 12f2a4d, August 2026), was run against the services in
November 2026; \`npm run suite\` does it again ([CONTRIBUTING.md](../CONTRIBUTING.md)):

| service | how | result |
|---|---|---|
| verifier | its two plans for verifiers: \`x509_hash\`, SD-JWT VC plain and encrypted, mdoc encrypted, and both by HAIP | none of 41 modules fails or warns: 23 pass, and 18 end with \`REVIEW\`, since they ask for a picture of the result, which was a success |
| issuer, with its own authorization server, by HAIP ([how](how-to/haip.md#the-conformance-suite-of-the-openid-foundation)) | \`oid4vci-1_0-issuer-haip-test-plan\`: SD-JWT VC and mdoc, initiated by the wallet and by the issuer | in each of the four, 59 of 63 modules pass, with no warning, and 4 end with \`REVIEW\`: a person has to look at the page with the refusal, which was right |
| issuer, with its own authorization server, without a profile | \`oid4vci-1_0-issuer-test-plan\` in 20 variants: both formats, plain and encrypted; authorization code with wallet attestations, initiated by either side, by scope and by authorization details; pre-authorized code with a transaction code. SD-JWT VCs with \`"revocable": false\` ([why](divergences/status-lists.md)) | none of 396 modules fails or warns; in the plain ones two are skipped, about encryption and key attestations. With wallet attestations and the pre-authorized code, 5 modules fail by what they do themselves: four change a pushed request, which that grant does not have, and one goes on after its end |
| issuer, with an external authorization server that fulfils HAIP ([how](issuing.md#your-own-authorization-server)), in an earlier version of the suite | the plans for issuers | every OID4VCI module passes |

Everything below is shown by tests of this repository; the modules of the suite are replayed there.

## By tests

| what is asked | items | shown by tests | not offered | rows |
|---|---|---|---|---|
${conformance.map(({ heading, file, rows }) => `| ${heading} | ${countCells(rows)} | [${file.split('/').at(-1) ?? ''}](../${file}) |`).join('\n')}
| all | ${countCells(all)} | |

The same items by the specification that asks for them; an item that two specifications ask for counts for both.

| specification | items | shown by tests | not offered |
|---|---|---|---|
${rowsBySpecification(all)
  .map(([name, rows]) => `| ${name} | ${countCells(rows)} |`)
  .join('\n')}

## The modules of the OpenID Foundation’s suite

${conformance
  .filter(({ file }) => file === SUITE)
  .map(modulesTable)
  .join('\n\n')}

## How to run them

| command | does |
|---|---|
| \`npm test -- test/conformance\` | checks that every test that a row names is there and is not skipped |
| \`npm test -- test/e2e/oidf-\` | plays every module of the OpenID Foundation's suite against the services |
| \`npm test -- test/attacks\` | runs the attacks |
| \`VOUCHSAFE_TEST_ALL=yes npm test\` | runs the tests that rows name, except those in \`test/interop\` and \`test/contracts\` |
| \`npm run test:others\` | installs implementations of other parties, and runs the tests in \`test/interop\` and \`test/contracts\` |

## What is not offered

${
  all
    .filter(({ notOffered }) => notOffered !== undefined)
    .map(({ id, asks, notOffered = '' }) => `- \`${id}\` (${asks}): ${notOffered}.`)
    .join('\n') || 'Nothing of these.'
}

## What each section asks

${conformance.map(({ heading, about }) => `**${heading}.** ${about}`).join('\n\n')}
`
}

const RESULTS = 'bench/results/performance.json'
const SUITE = 'test/conformance/suite.ts'

/** Writes the modules of a suite, each with the file of the test that plays it. */
function modulesTable({ heading, rows }: Section): string {
  const playedBy = ({ tests = [], notOffered = '' }: Row) => {
    const [file] = tests[0] ?? []
    return file === undefined ? notOffered : `[${file.split('/').at(-1) ?? ''}](../${file})`
  }
  const lines = rows.map((row) => `| \`${row.id}\` | ${row.asks} | ${playedBy(row)} |`)
  return `${heading}: each module, what it asks, and the file with the test of its name.

| module | asks | replayed in |
|---|---|---|
${lines.join('\n')}`
}

/** Writes the number of the rows, of those that tests show and of those that are not offered, as cells of a table. */
function countCells(rows: readonly Row[]): string {
  const testedCount = rows.filter(({ tests }) => tests !== undefined).length
  return `${rows.length} | ${testedCount} | ${rows.length - testedCount || ''}`
}

const SPECIFICATION = /^(?:RFC \d+|ISO\/IEC [\d-]+|OpenID4V.*? 1\.0|SD-JWT VC|Token Status List)/

/** Groups the rows by each specification that a source names, the specification with most rows first. */
function rowsBySpecification(rows: readonly Row[]): [name: string, rows: Row[]][] {
  const bySpecification = new Map<string, Row[]>()
  for (const row of rows) {
    const names = row.source.split('; ').flatMap((part) => SPECIFICATION.exec(part)?.[0] ?? [])
    for (const name of new Set(names)) bySpecification.set(name, [...(bySpecification.get(name) ?? []), row])
  }
  return [...bySpecification].sort(([a, some], [b, others]) => others.length - some.length || a.localeCompare(b))
}

const METRICS_ROW =
  '| GET | `/metrics` | `management.port` | Requests by route, status and error, their duration, conflicts, certificates |'

async function referencePage(services: Services): Promise<string> {
  return `${GENERATED}
# Settings and endpoints

On this page you find every setting of \`server.json\` and every endpoint of a service. Errors, metrics and commands have pages of
their own: [errors.md](errors.md), [metrics.md](metrics.md), [commands.md](commands.md). \`GET /openapi\` of a running service has
each request and answer, field by field.

## Settings of the issuance service

${settingsTable(IssuerSettings as unknown as Schema)}

## Settings of the verification service

${settingsTable(VerifierSettings as unknown as Schema)}

## Settings of the execution engine

${settingsTable(EngineSettings as unknown as Schema, 'database.encryptionKeyFile')}

## Endpoints of the issuance service

${await endpointsTable(services, 'http://issuer.localhost')}
${METRICS_ROW}

## Endpoints of the verification service

${await endpointsTable(services, 'http://verifier.localhost')}
${METRICS_ROW}

## Endpoints of the execution engine

What a component takes and answers is its own. The engine's own answers, by their \`x-engine-error\`: [engine.md](engine.md#answers-of-the-engine-itself).

${pathsTable(openApi.paths as unknown as Paths)}
| GET | \`/metrics\` | \`management.port\` | Calls by outcome, queues, outbox, storage, limits, how far behind the chain |
`
}

/** Writes the settings but for `refused`, which the schema of another service has in common with this one. */
function settingsTable(schema: Schema, refused = ''): string {
  const rows = settingRows(schema, '', 'yes').filter((row) => !row.startsWith(`| \`${refused}\` |`))
  return ['| setting | type | required | meaning |', '|---|---|---|---|', ...rows].join('\n')
}

function settingRows({ properties = {}, required = [] }: Schema, prefix: string, always: string): string[] {
  return Object.entries(properties).flatMap(([name, setting]) => {
    const path = `${prefix}${name}`
    const presence = required.includes(name) ? always : ''
    if (setting.properties) return settingRows(setting, `${path}.`, presence || `with \`${path}\``)
    return [`| \`${path}\` | ${typeText(setting)} | ${presence} | ${setting.description ?? ''} |`]
  })
}

function typeText({ type, const: only, items, anyOf, minimum, maximum }: Schema): string {
  if (only !== undefined) return `\`${JSON.stringify(only)}\``
  if (anyOf) return anyOf.map(typeText).join(' or ')
  if (items) return `array of ${typeText(items)}`
  return minimum === undefined ? (type ?? '') : `${type ?? ''}, ${minimum} to ${maximum ?? '…'}`
}

async function endpointsTable({ fetch }: Services, baseUrl: string): Promise<string> {
  const document = (await (await fetch(`${baseUrl}/openapi`)).json()) as { paths: Paths }
  return pathsTable(document.paths)
}

async function documentOf({ fetch }: Services, name: 'issuer' | 'verifier'): Promise<{ paths: Paths }> {
  return (await (await fetch(`http://${name}.localhost/openapi`)).json()) as { paths: Paths }
}

function pathsTable(paths: Paths): string {
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method]) => !['head', 'parameters'].includes(method))
      .map(([method, { summary, security = [] }]) => {
        const needs = security.flatMap((each) => Object.keys(each)).join(', ')
        return `| ${method.toUpperCase()} | \`${path}\` | ${needs} | ${summary ?? ''} |`
      }),
  )
  return ['| method | path | needs | does |', '|---|---|---|---|', ...rows.sort()].join('\n')
}

const services = await startServices()
const pages = {
  'docs/checks.md': checksPage(),
  'docs/errors.md': errorsPage([await documentOf(services, 'issuer'), await documentOf(services, 'verifier')]),
  'docs/commands.md': commandsPage(),
  'docs/metrics.md': metricsPage(),
  'docs/performance.md': performancePage(readPublished(RESULTS)),
  'docs/explanation/a-country.md': countryPage(read('docs/explanation/a-country.md'), readPublished(RESULTS)),
  'docs/conformance.md': conformancePage(),
  'deploy/prometheus-rules.yaml': describeAlerts(
    read('deploy/prometheus-rules.yaml'),
    read('docs/how-to/production.md'),
  ),
  'deploy/grafana-dashboard.json': formatAs('dashboard.json', drawDashboard()),
  'docs/reference.md': await referencePage(services),
  'sdk/server/issuer-schemas.ts': await apiTypes(services, 'IssuerSchemas', 'an issuer'),
  'sdk/server/verifier-schemas.ts': await apiTypes(services, 'VerifierSchemas', 'a verifier'),
}
await services.close()

const stale = Object.entries(pages).filter(([file, text]) => !process.argv.includes('--check') || read(file) !== text)
if (process.argv.includes('--check')) {
  for (const [file] of stale) process.stderr.write(`${file} is not current; run: npm run docs\n`)
  process.exitCode = stale.length > 0 ? 1 : 0
} else {
  for (const [file, text] of stale) writeFileSync(file, text)
}

async function apiTypes({ fetch }: Services, name: string, service: string): Promise<string> {
  const baseUrl = name === 'IssuerSchemas' ? 'http://issuer.localhost' : 'http://verifier.localhost'
  const document = (await (await fetch(`${baseUrl}/openapi`)).json()) as ApiDocument
  return formatAs('sdk/server/schemas.ts', writeApiTypes(name, service, document))
}

/** Formats the text of a file that has the path. */
function formatAs(path: string, text: string): string {
  const words = ['format', '--stdin-file-path', path]
  return execFileSync('node_modules/.bin/biome', words, { input: text, encoding: 'utf8' })
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
