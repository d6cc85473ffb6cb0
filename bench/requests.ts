/**
 * How much processor time does each request of a flow cost, beside the floor? Many flows take each step together, so
 * that the processor time of a step is that of one kind of request alone.
 */
import { type Answer, openConnection, type Request } from './connection.ts'
import { startFloor } from './floor-script.ts'
import type { Kind, MakeFlows } from './kinds.ts'
import { CONCURRENCY, runLoad } from './load.ts'
import { processorTimeMs, type Running } from './processes.ts'
import { note, show, table, type Verdict } from './report.ts'
import type { SpeedOptions } from './speed.ts'
import { type Spread, spreadOf } from './spread.ts'
import { startService, type Workplace } from './workplace.ts'

/** Microseconds of processor time of one request, by the name of its step. */
type Costs = Readonly<Record<string, number>>

export type RequestCosts = Readonly<Record<string, { readonly service: Spread; readonly floor: Spread }>>

interface WaitingRequest {
  readonly request: Request
  readonly resolve: (answer: Answer) => void
}

export async function measureRequests(workplace: Workplace, options: SpeedOptions): Promise<Verdict> {
  const { rounds, flows, warmUp, kinds } = options
  const results: Record<string, RequestCosts> = {}
  for (const kind of kinds) results[kind.name] = await measureKind(kind, workplace, options)
  for (const [name, costs] of Object.entries(results)) showCosts(name, costs)
  return { section: 'requests', options: { rounds, flows, warmUp, concurrency: CONCURRENCY }, results, targets: [] }
}

async function measureKind(
  kind: Kind,
  workplace: Workplace,
  { rounds, flows, warmUp }: SpeedOptions,
): Promise<RequestCosts> {
  const service = await startService(workplace, kind)
  const make = await kind.prepare(workplace, service.port)
  const floor = await startFloor(kind, workplace, service.port, make)
  const servers = { service, floor }
  const costs: Record<keyof typeof servers, Costs[]> = { service: [], floor: [] }
  try {
    for (const of of ['service', 'floor'] as const) {
      await runLoad({ port: servers[of].port, flows: await make(warmUp, of) })
    }
    for (let round = 1; round <= rounds; round += 1) {
      for (const of of ['service', 'floor'] as const) {
        costs[of].push(await measureSteps(kind, servers[of], { make, flows, of }))
      }
      note(`${kind.name}, round ${round}`)
    }
  } finally {
    await Promise.all([service.stop(), floor.stop()])
  }
  const spread = (of: keyof typeof servers, name: string) => spreadOf(costs[of].map((each) => each[name] ?? Number.NaN))
  return Object.fromEntries(
    kind.steps.map(([name]) => [name, { service: spread('service', name), floor: spread('floor', name) }]),
  )
}

/** Lets flows take each step together, and returns the processor time of each step for one flow. */
async function measureSteps(
  { steps }: Kind,
  { pid, port }: Running,
  { make, flows: count, of }: { readonly make: MakeFlows; readonly flows: number; readonly of: 'service' | 'floor' },
): Promise<Costs> {
  const connections = await Promise.all(Array.from({ length: CONCURRENCY }, () => openConnection(port)))
  const waiting = new Map<string, WaitingRequest[]>(steps.map(([name]) => [name, []]))
  const flows = await make(count, of)
  const ends = Promise.all(
    flows.map((flow) =>
      flow((name, request) => new Promise((resolve) => waiting.get(name)?.push({ request, resolve }))),
    ),
  )
  const costs: Record<string, number> = {}
  for (const [name] of steps) {
    const requests = waiting.get(name) ?? []
    await Promise.race([ends, untilAllWait(requests, count)])
    const queue = requests[Symbol.iterator]()
    const answers: (() => void)[] = []
    const before = processorTimeMs(pid)
    await Promise.all(
      connections.map(async (connection) => {
        for (const { request, resolve } of queue) {
          const answer = await connection.send(request)
          answers.push(() => resolve(answer))
        }
      }),
    )
    costs[name] = ((processorTimeMs(pid) - before) * 1000) / count
    for (const giveAnswer of answers) giveAnswer()
  }
  await ends
  for (const connection of connections) connection.close()
  return costs
}

/** Waits until every flow has prepared its request, which includes signatures of the wallet. */
async function untilAllWait(requests: readonly WaitingRequest[], count: number): Promise<void> {
  while (requests.length < count) await new Promise((resolve) => setTimeout(resolve, 20))
}

function showCosts(kind: string, costs: RequestCosts): void {
  const rows = Object.entries(costs).map(([name, { service, floor }]) => [
    name,
    ...[service.median, floor.median, service.median - floor.median].map((each) => each.toFixed(0)),
    (service.median / floor.median).toFixed(1),
  ])
  show(table([kind, 'µs of processor', 'floor', 'more', 'ratio'], rows))
}
