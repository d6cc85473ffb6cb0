/** `vouchsafe doctor`: says everything that is wrong with a configuration before anything starts. */
import { readWords } from '../command-line.ts'
import { otherServiceMistake, placeHint, readConfigFile, serviceOf } from '../config-file.ts'
import { files, now } from '../effects.ts'
import { isServiceName, type ServiceName } from '../services.ts'
import { hanging, paint } from '../terminal.ts'
import { diagnose } from './diagnosis.ts'
import type { Finding } from './finding.ts'

const COLOURS = { ok: 'green', note: 'dim', warning: 'yellow', problem: 'red' } as const
const OUTCOME_WIDTH = 11

export async function runDoctor(args: string[]): Promise<void> {
  const { values, positionals } = readWords('doctor', {
    args,
    allowPositionals: true,
    options: { config: { type: 'string', default: 'conf/server.json' }, json: { type: 'boolean', default: false } },
  })
  const file = readConfigFile(values.config)
  const value = 'value' in file ? file.value : undefined
  const service = namedService(positionals) ?? serviceOf(value)
  const findings =
    'mistakes' in file
      ? file.mistakes.map((text): Finding => ({ subject: 'configuration', outcome: 'problem', text }))
      : service === undefined
        ? [UNKNOWN_SERVICE]
        : await findingsOf(service, value, values.config)
  const isReady = findings.every(({ outcome }) => outcome !== 'problem')
  const report = { service: service ?? null, config: values.config, ready: isReady, findings }
  process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : textOf(report))
  if (!isReady) process.exitCode = 2
}

/** What the diagnosis finds, with what only the place and the kind of the file explain. */
async function findingsOf(service: ServiceName, value: unknown, configFile: string): Promise<Finding[]> {
  const findings = await diagnose(service, value, files, now())
  const other = otherServiceMistake(service, value)?.replace(/^configuration: /, '')
  const hint = placeHint(
    configFile,
    findings.map(({ text }) => text),
  )
  return [
    ...(other === undefined ? [] : [{ subject: 'configuration', outcome: 'problem', text: other } as const]),
    ...(hint === undefined ? [] : [{ subject: 'configuration', outcome: 'note', text: hint } as const]),
    ...findings,
  ]
}

const UNKNOWN_SERVICE: Finding = {
  subject: 'configuration',
  outcome: 'problem',
  text: 'it could be of either service; say which: vouchsafe doctor issuer, or vouchsafe doctor verifier',
}

function namedService(positionals: readonly string[]): ServiceName | undefined {
  const [word, ...more] = positionals
  if (word === undefined) return undefined
  if (more.length === 0 && isServiceName(word)) return word
  if (word === 'engine') throw new Error('The execution engine comes in a later release; name issuer or verifier.')
  throw new Error('Say at most one service: vouchsafe doctor [issuer|verifier] [--config FILE] [--json]')
}

interface Report {
  readonly service: ServiceName | null
  readonly config: string
  readonly ready: boolean
  readonly findings: readonly Finding[]
}

function textOf({ service, config, ready: isReady, findings }: Report): string {
  const count = (wanted: Finding['outcome']) => findings.filter(({ outcome }) => outcome === wanted).length
  const lines = findings.map(({ subject, outcome, text }) => {
    const head = `  ${paint(COLOURS[outcome], outcome.padEnd(OUTCOME_WIDTH - 2))}`
    return hanging(head, OUTCOME_WIDTH, `${subject}: ${text}`)
  })
  const counts = `${counted(count('problem'), 'problem')}, ${counted(count('warning'), 'warning')}`
  const verdict = isReady ? 'Ready to start' : 'Not ready to start'
  const title = service === null ? config : `${config}, for the ${service}`
  return `${title}\n\n${lines.join('\n')}\n\n${verdict}: ${counts}.\n`
}

function counted(count: number, what: string): string {
  return `${count === 0 ? 'no' : count} ${what}${count === 1 ? '' : 's'}`
}
