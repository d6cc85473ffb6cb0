/** Prints the findings of `vouchsafe doctor`, and sets its exit status. */
import { hangingIndent, paint } from '../terminal/terminal.ts'
import type { Finding } from './finding.ts'
import type { MachineFacts } from './machine.ts'

const COLOURS = { ok: 'green', note: 'dim', warning: 'yellow', problem: 'red' } as const
const OUTCOME_WIDTH = 11

interface Report {
  /** The service; null if it is unknown. */
  readonly service: string | null
  readonly config: string
  readonly machine: MachineFacts
  /** The redacted settings; absent if the configuration cannot be read. */
  readonly settings: unknown
  readonly findings: readonly Finding[]
}

/** Prints the findings. The exit status is 2 if a service could not start. */
export function printReport(report: Report, json: boolean): void {
  const { service, config, machine, settings, findings } = report
  const ready = findings.every(({ outcome }) => outcome !== 'problem')
  const text = json
    ? `${JSON.stringify({ service, config, ready, machine, settings, findings }, null, 2)}\n`
    : textOf(report, ready)
  process.stdout.write(text)
  if (!ready) process.exitCode = 2
}

function textOf({ service, config, machine, findings }: Report, isReady: boolean): string {
  const count = (kind: Finding['outcome']) => findings.filter(({ outcome }) => outcome === kind).length
  const lines = findings.map(({ subject, outcome, text }) => {
    const head = `  ${paint(COLOURS[outcome], outcome.padEnd(OUTCOME_WIDTH - 2))}`
    return hangingIndent(head, OUTCOME_WIDTH, `${subject}: ${text}`)
  })
  const counts = `${formatCount(count('problem'), 'problem')}, ${formatCount(count('warning'), 'warning')}`
  const verdict = isReady ? 'Ready to start' : 'Not ready to start'
  const title = service === null ? config : `${config}, for the ${service}`
  const { vouchsafe, node, platform, processors, memory_bytes: bytes } = machine
  const facts = [
    `vouchsafe ${vouchsafe}, Node ${node.slice(1)}, ${platform},`,
    `${formatCount(processors, 'processor')}, ${(bytes / 1e9).toFixed(1)} GB of memory`,
  ]
  return `${title}\n${hangingIndent('', 0, facts.join(' '))}\n\n${lines.join('\n')}\n\n${verdict}: ${counts}.\n`
}

function formatCount(count: number, what: string): string {
  return `${count === 0 ? 'no' : count} ${what}${count === 1 ? '' : 's'}`
}
