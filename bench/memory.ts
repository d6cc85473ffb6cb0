/** How much memory does a service hold after many flows, and does it grow? */
import { issuance, type Kind, verification } from './kinds.ts'
import { runLoad } from './load.ts'
import { residentMemory } from './processes.ts'
import { note, show, table, type Verdict } from './report.ts'
import { startService, type Workplace } from './workplace.ts'

const EARLY = 10_000
const LATE = 50_000
const AT_A_TIME = 2_500
const MAX_MEGABYTES = 130
/** The growth that still counts as flat: the collector does not return every page at once. */
const MAX_GROWTH = 1.1

interface Sample {
  readonly flows: number
  readonly megabytes: number
}

export async function measureMemory(workplace: Workplace): Promise<Verdict> {
  const results: Record<string, { readonly peak: number | undefined; readonly samples: readonly Sample[] }> = {}
  for (const kind of [issuance, verification]) results[kind.service] = await sample(kind, workplace)
  show(
    table(
      ['resident memory, MB', 'at start', `after ${EARLY} flows`, `after ${LATE}`, 'peak'],
      Object.entries(results).map(([service, { samples, peak }]) => [
        service,
        ...[0, EARLY, LATE].map((flows) => at(samples, flows).toFixed(1)),
        peak?.toFixed(1) ?? '-',
      ]),
    ),
  )
  const targets = Object.entries(results).flatMap(([service, { samples }]) => {
    const [early, late] = [at(samples, EARLY), at(samples, LATE)]
    return [
      {
        target: `${service}: under ${MAX_MEGABYTES} MB after ${EARLY} flows`,
        reached: early < MAX_MEGABYTES,
        figure: `${early.toFixed(1)} MB`,
      },
      {
        target: `${service}: flat from ${EARLY} to ${LATE} flows (at most ${MAX_GROWTH} times)`,
        reached: late <= early * MAX_GROWTH,
        figure: `${(late / early).toFixed(2)} times`,
      },
    ]
  })
  return { section: 'memory', options: { early: EARLY, late: LATE }, results, targets }
}

async function sample(kind: Kind, workplace: Workplace) {
  const service = await startService(workplace, kind)
  try {
    const samples: Sample[] = [{ flows: 0, megabytes: residentMemory(service.pid).now }]
    const make = await kind.prepare(workplace, service.port)
    for (let flows = AT_A_TIME; flows <= LATE; flows += AT_A_TIME) {
      await runLoad({ port: service.port, flows: await make(AT_A_TIME, 'service') })
      samples.push({ flows, megabytes: residentMemory(service.pid).now })
      note(`${kind.service}: ${samples.at(-1)?.megabytes.toFixed(1)} MB after ${flows} flows`)
    }
    return { peak: residentMemory(service.pid).peak, samples }
  } finally {
    await service.stop()
  }
}

function at(samples: readonly Sample[], flows: number): number {
  return samples.find((each) => each.flows === flows)?.megabytes ?? Number.NaN
}
