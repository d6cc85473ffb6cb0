/**
 * The command `npm run fuzz -- cost [minutes] [seed]` prints the findings of the search, and what costs most beside
 * them.
 */
import { type CostResult, searchCost } from './cost.ts'

const MAX_SHOWN = 12

/** Runs the search for some minutes; the process fails where it finds anything. */
export async function runCostSearch([minutes = 60, seed = Date.now() % 1_000_000]: readonly number[]): Promise<void> {
  const say = (line: string): void => void process.stdout.write(`${line}\n`)
  say(`Node ${process.version}, ${minutes} minutes, seed ${seed}; again with: npm run fuzz -- cost ${minutes} ${seed}`)
  const result = await searchCost({ minutes, seed, say })
  for (const line of linesOf(result)) say(line)
  const { user, system } = process.cpuUsage()
  say(`${((user + system) / 60e6).toFixed(1)} minutes of processor time`)
  process.exitCode = result.findings.length > 0 ? 1 : 0
}

function linesOf({ requests, highest, findings }: CostResult): string[] {
  const costliest = highest.slice(0, MAX_SHOWN)
  return [
    `\n${requests} requests; of what their size allows, the most was:`,
    ...costliest.map(({ ratio, name, growths }) => `${ratio.toFixed(2)} ${name}: ${growths.join('; ')}`),
    ...findings.map((finding) => `\n${finding}`),
    findings.length > 0 ? '\nFAILED' : '\nNo request cost more than 40 ms and 2 ms for each 10 KB',
  ]
}
