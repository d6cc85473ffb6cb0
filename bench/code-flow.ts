/**
 * How much does the authorization code flow cost beside the pre-authorized one, and how much do requests cost that were
 * pushed and never brought? Both flows run by turns at one issuer; the requests and their answers are those of wallets.
 */
import { copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readPemCertificates } from '../src/keys/certificate.ts'
import { createSigner } from '../src/keys/file-signer.ts'
import type { Signer } from '../src/keys/signer.ts'
import { loadDriver } from '../src/store/sqlite.ts'
import { sdJwtVcCase } from './cases.ts'
import { attest, type Client, makeClient, pushRequest, visitOnly, wholeFlow } from './code-flow-client.ts'
import { makeHolders } from './holders.ts'
import { create, declareConfiguration, issuanceFlow } from './issuance-flow.ts'
import { CONCURRENCY, runLoad } from './load.ts'
import { processorTimeMs, type Running, residentMemory } from './processes.ts'
import { note, percentile, show, table, type Verdict } from './report.ts'
import { configFile, startService, type Workplace } from './workplace.ts'

const SCOPE = 'bench'
const PROVIDERS = 'providers'
const PUSHED_REQUESTS = 100_000
const PUSHED_WARM_UP = 10_000
/** The rows that strangers may make at once. */
const VISITS = 6_000
/** The growth of memory that 100,000 requests may cause, which are stored nowhere. */
const MAX_GROWTH_MEGABYTES = 30

type Kind = 'pre-authorized' | 'bearer' | 'dpop' | 'attested'

export interface CodeFlowOptions {
  readonly rounds: number
  readonly flows: number
  readonly warmUp: number
}

export async function measureCodeFlow(workplace: Workplace, options: CodeFlowOptions): Promise<Verdict> {
  allowCodeFlow(workplace)
  const service = await startService(workplace, { service: 'issuer' })
  try {
    const processorMs = await measureFlows(workplace, service, options)
    const pushedResult = await measurePushed(workplace, service)
    show(
      table(
        ['dc+sd-jwt, one whole flow', 'processor, ms, median', 'least', 'most'],
        Object.entries(processorMs).map(([name, rounds]) => [
          name,
          ...[percentile(rounds, 50), Math.min(...rounds), Math.max(...rounds)].map((each) => each.toFixed(2)),
        ]),
      ),
    )
    show(
      table(
        ['issuer on SQLite', 'resident memory, MB', 'rows of requests', 'database, MB'],
        Object.entries(pushedResult.states).map(([name, { megabytes, rows, databaseMegabytes }]) => [
          name,
          megabytes.toFixed(1),
          String(rows),
          databaseMegabytes.toFixed(1),
        ]),
      ),
    )
    show(`A pushed request costs ${pushedResult.processorMs.toFixed(2)} ms of processor time.`)
    const { before, pushed: after } = pushedResult.states
    const [growth, rows] = [after.megabytes - before.megabytes, after.rows - before.rows]
    const targets = [
      // Old rows may be purged meanwhile.
      {
        target: `${PUSHED_REQUESTS} open pushed requests: at most ${MAX_GROWTH_MEGABYTES} MB of memory, and no new row`,
        reached: growth <= MAX_GROWTH_MEGABYTES && rows <= 0,
        figure: `${growth.toFixed(1)} MB, ${rows} rows`,
      },
    ]
    return { section: 'code-flow', options, results: { processorMs, pushed: pushedResult }, targets }
  } finally {
    await service.stop()
  }
}

/** Turns the flow on, and has the certificate of the verifier be that of a provider of wallets. */
function allowCodeFlow({ directory }: Workplace): void {
  const file = join(directory, configFile('issuer'))
  const settings = JSON.parse(readFileSync(file, 'utf8')) as object
  mkdirSync(join(directory, PROVIDERS))
  copyFileSync(join(directory, 'verifier.pem'), join(directory, PROVIDERS, 'provider.pem'))
  const addedSettings = {
    authentication: { interactionUrl: 'https://portal.example/' },
    walletProviderTrustAnchors: PROVIDERS,
  }
  writeFileSync(file, JSON.stringify({ ...settings, ...addedSettings }))
}

/** Makes a wallet for a flow of the kind. */
async function clientFor({ directory, privateKeys }: Workplace, kind: Kind, key: Signer | undefined): Promise<Client> {
  if (kind !== 'attested' || key === undefined) return makeClient(kind === 'bearer' ? undefined : key)
  const pem = readFileSync(join(directory, 'verifier.pem'), 'utf8')
  return makeClient(key, await attest(createSigner(privateKeys.verifier, readPemCertificates(pem)), key))
}

/** Gives the milliseconds of processor time of a flow, round by round. */
async function measureFlows(workplace: Workplace, { pid, port }: Running, options: CodeFlowOptions) {
  const plain = await declareConfiguration(port, sdJwtVcCase)
  const postedConfiguration = { ...sdJwtVcCase.configuration, scope: SCOPE }
  const configurationId = await create(port, '/credential-configuration/create', postedConfiguration)
  const target = {
    configurationId: plain,
    issued: sdJwtVcCase,
    issuerKey: workplace.publicKeys.issuer,
    bindsHolder: true,
  }
  const run = async (count: number, kind: Kind): Promise<number> => {
    const holders = await makeHolders(count)
    const keys = kind === 'pre-authorized' ? [] : await makeHolders(count)
    const clients = await Promise.all(keys.map((key) => clientFor(workplace, kind, key)))
    const before = processorTimeMs(pid)
    if (kind === 'pre-authorized') {
      await runLoad({ port, flows: holders.map((holder) => issuanceFlow(target, holder)) })
    } else {
      const terms = { port, scope: SCOPE, configurationId, dataset: sdJwtVcCase.dataset }
      await inTurns(
        holders.map((holder, index) => () => {
          return wholeFlow({ ...terms, client: clients[index] ?? makeClient(undefined), holder })
        }),
      )
    }
    return (processorTimeMs(pid) - before) / count
  }
  const results: Record<string, number[]> = {}
  const kinds = [
    ['pre-authorized code, Bearer', 'pre-authorized'],
    ['authorization code, pushed request, PKCE, Bearer', 'bearer'],
    ['authorization code, pushed request, PKCE, DPoP', 'dpop'],
    ['authorization code, pushed request, PKCE, DPoP, wallet attestation', 'attested'],
  ] as const
  for (const [, kind] of kinds) await run(options.warmUp, kind)
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const [name, kind] of kinds) {
      const milliseconds = await run(options.flows, kind)
      results[name] = [...(results[name] ?? []), milliseconds]
      note(`${name}, round ${round}: ${milliseconds.toFixed(2)} ms`)
    }
  }
  return results
}

async function measurePushed(workplace: Workplace, { pid, port }: Running) {
  const terms = { port, scope: SCOPE }
  const push = (count: number) => inTurns(Array.from({ length: count }, () => () => pushRequest(terms)))
  await push(PUSHED_WARM_UP)
  const before = await stateOf(workplace, pid)
  const timeBefore = processorTimeMs(pid)
  await push(PUSHED_REQUESTS)
  const processorMs = (processorTimeMs(pid) - timeBefore) / PUSHED_REQUESTS
  const stateAfter = await stateOf(workplace, pid)
  note(`${PUSHED_REQUESTS} requests pushed: ${stateAfter.megabytes.toFixed(1)} MB`)
  await inTurns(Array.from({ length: VISITS }, () => async () => visitOnly(terms, await pushRequest(terms))))
  return { processorMs, states: { before, pushed: stateAfter, visited: await stateOf(workplace, pid) } }
}

async function stateOf({ directory }: Workplace, pid: number) {
  const file = join(directory, 'issuer.db')
  const database = new (await loadDriver())(file, { readOnly: true })
  const countRow = database.prepare('select count(*) as rows from authorization_request').get()
  const rows = Number(countRow?.rows)
  database.close()
  return { megabytes: residentMemory(pid).now, rows, databaseMegabytes: statSync(file).size / 1e6 }
}

async function inTurns(flows: readonly (() => Promise<unknown>)[]): Promise<void> {
  const queue = flows[Symbol.iterator]()
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (const flow of queue) await flow()
    }),
  )
}
