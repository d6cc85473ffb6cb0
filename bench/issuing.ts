/**
 * How much processor time does issuing one mdoc cost: by the function alone, with the reading back that the service
 * does of everything it issues, and as a whole credential request?
 */
import { randomBytes } from 'node:crypto'
import type { Signer } from '../src/keys/signer.ts'
import { elementCount, licenceCase, orderOf, pluginOf } from './cases.ts'
import { openConnection, type Request } from './connection.ts'
import { must, stepOn } from './flow.ts'
import { makeHolders } from './holders.ts'
import { declareConfiguration, requestCredential } from './issuance-flow.ts'
import { CONCURRENCY } from './load.ts'
import { processorTimeMs, type Running } from './processes.ts'
import { note, percentile, show, table, type Verdict } from './report.ts'
import { startService, type Workplace } from './workplace.ts'

const MAX_MS = 2

export interface IssuingOptions {
  readonly rounds: number
  readonly flows: number
  readonly warmUp: number
}

export async function measureIssuing(workplace: Workplace, options: IssuingOptions): Promise<Verdict> {
  const issuer = workplace.signers.issuer
  const plugin = pluginOf(licenceCase)
  const results = {
    issue: await inLoop(options, (holder) => plugin.issue(orderFor(holder), issuer, randomBytes)),
    'issue and read back': await inLoop(options, async (holder) => {
      const order = orderFor(holder)
      const credential = await plugin.issue(order, issuer, randomBytes)
      must(plugin.matchesOrder(order, credential), 'issue', 'it does not read back as it was ordered')
    }),
    'credential request': await throughService(workplace, options),
  }
  const elements = elementCount(licenceCase)
  show(
    table(
      [`one mso_mdoc with ${elements} elements`, 'processor, ms, median', 'least', 'most'],
      Object.entries(results).map(([name, rounds]) => [
        name,
        ...[percentile(rounds, 50), Math.min(...rounds), Math.max(...rounds)].map((each) => each.toFixed(3)),
      ]),
    ),
  )
  const targets = Object.entries(results).map(([name, rounds]) => {
    const median = percentile(rounds, 50)
    return {
      target: `mso_mdoc with ${elements} elements, ${name}: under ${MAX_MS} ms of processor time`,
      reached: median < MAX_MS,
      figure: `${median.toFixed(3)} ms`,
    }
  })
  return { section: 'issuing', options: { ...options, elements }, results, targets }
}

function orderFor(holder: Signer) {
  return orderOf(licenceCase, holder.jwk)
}

/** Measures the milliseconds of processor for each credential, in this process, by round. */
async function inLoop({ rounds, flows, warmUp }: IssuingOptions, work: (holder: Signer) => Promise<unknown>) {
  const [holder] = await makeHolders(1)
  if (holder === undefined) throw new Error('no holder')
  const times: number[] = []
  for (let remaining = warmUp; remaining > 0; remaining -= 1) await work(holder)
  for (let round = 1; round <= rounds; round += 1) {
    const before = process.cpuUsage()
    for (let remaining = flows; remaining > 0; remaining -= 1) await work(holder)
    const { user, system } = process.cpuUsage(before)
    times.push((user + system) / 1000 / flows)
  }
  return times
}

/**
 * Measures the same for the service, which does nothing else in the meantime: all requests are made before the first is
 * sent.
 */
async function throughService(workplace: Workplace, { rounds, flows, warmUp }: IssuingOptions) {
  const service = await startService(workplace, { service: 'issuer' })
  try {
    const configurationId = await declareConfiguration(service.port, licenceCase)
    const target = { configurationId, issued: licenceCase, issuerKey: workplace.publicKeys.issuer, bindsHolder: true }
    const prepare = async (count: number) => {
      const requests: Request[] = []
      const queue = (await makeHolders(count))[Symbol.iterator]()
      await onConnections(service, async (connection) => {
        const step = stepOn(connection, () => undefined)
        for (const holder of queue) requests.push(await requestCredential(step, target, holder))
      })
      return requests
    }
    const times: number[] = []
    await sendAll(service, await prepare(warmUp))
    for (let round = 1; round <= rounds; round += 1) {
      const requests = await prepare(flows)
      const before = processorTimeMs(service.pid)
      await sendAll(service, requests)
      times.push((processorTimeMs(service.pid) - before) / flows)
      note(`credential request, round ${round}: ${times.at(-1)?.toFixed(3)} ms of processor`)
    }
    return times
  } finally {
    await service.stop()
  }
}

function sendAll(service: Running, requests: readonly Request[]): Promise<void> {
  const queue = requests[Symbol.iterator]()
  return onConnections(service, async (connection) => {
    const step = stepOn(connection, () => undefined)
    for (const request of queue) await step('credential', request)
  })
}

async function onConnections(
  { port }: Running,
  work: (connection: Awaited<ReturnType<typeof openConnection>>) => Promise<void>,
): Promise<void> {
  const connections = await Promise.all(Array.from({ length: CONCURRENCY }, () => openConnection(port)))
  try {
    await Promise.all(connections.map(work))
  } finally {
    for (const connection of connections) connection.close()
  }
}
