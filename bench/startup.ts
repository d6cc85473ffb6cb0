/** How long is it from `node` to a service that accepts connections? */
import { spawn } from 'node:child_process'
import { listeningPort, stop } from './processes.ts'
import { percentile, show, table, type Verdict } from './report.ts'
import { configFile, type ServiceName, type Workplace } from './workplace.ts'

const RUNS = 11
const MAX_MS = 300

export async function measureStartup(workplace: Workplace): Promise<Verdict> {
  const results: Record<string, { readonly median: number; readonly least: number; readonly most: number }> = {}
  // The first start of each makes its database and is not counted.
  for (const service of ['issuer', 'verifier'] as const) {
    await startOnce(workplace, service)
    results[service] = await spread(() => startOnce(workplace, service))
  }
  results['node alone'] = await spread(nodeAlone)
  show(
    table(
      ['from node to listening, ms', `median of ${RUNS}`, 'least', 'most'],
      Object.entries(results).map(([name, { median, least, most }]) => [
        name,
        ...[median, least, most].map((each) => each.toFixed(0)),
      ]),
    ),
  )
  const targets = (['issuer', 'verifier'] as const).map((service) => {
    const median = results[service]?.median ?? Number.NaN
    return {
      target: `${service}: listens within ${MAX_MS} ms`,
      reached: median < MAX_MS,
      figure: `${median.toFixed(0)} ms`,
      ...{ value: median, least: results[service]?.least ?? median, most: results[service]?.most ?? median },
    }
  })
  return { section: 'startup', options: { runs: RUNS }, results, targets }
}

async function spread(measure: () => Promise<number>) {
  const times: number[] = []
  for (let run = 0; run < RUNS; run += 1) times.push(await measure())
  return { median: percentile(times, 50), least: Math.min(...times), most: Math.max(...times) }
}

async function startOnce({ directory, bundle }: Workplace, service: ServiceName): Promise<number> {
  const begin = performance.now()
  const args = [bundle, service, '--config', configFile(service)]
  const child = spawn(process.execPath, args, { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'] })
  const time = await new Promise<number>((resolve, reject) => {
    let log = ''
    child.stdout.on('data', (chunk: Buffer) => {
      log += chunk.toString()
      if (listeningPort(log) !== undefined) resolve(performance.now() - begin)
    })
    child.once('exit', () => reject(new Error(`${service} did not start:\n${log}`)))
  })
  await stop(child)
  return time
}

/** Measures a process that does nothing, below which no program on Node can be. */
function nodeAlone(): Promise<number> {
  const begin = performance.now()
  const child = spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' })
  return new Promise((resolve) => child.once('exit', () => resolve(performance.now() - begin)))
}
