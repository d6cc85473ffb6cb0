/** `vouchsafe doctor`: says everything that is wrong with a configuration before anything starts. */
import { parseArgs } from 'node:util'
import { isObject } from '../../codec/json.ts'
import { commonSettings } from '../../config/common.ts'
import { files, now } from '../effects.ts'
import { readConfigFile } from '../service.ts'
import { isServiceName, type ServiceName, serviceNames, services } from '../services.ts'
import { hanging, paint } from '../terminal.ts'
import { diagnose } from './diagnosis.ts'
import type { Finding } from './finding.ts'

const COLOURS = { ok: 'green', note: 'dim', warning: 'yellow', problem: 'red' } as const
const OUTCOME_WIDTH = 11

export async function runDoctor(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
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
        : await diagnose(service, value, files, now())
  const isReady = findings.every(({ outcome }) => outcome !== 'problem')
  const report = { service: service ?? null, config: values.config, ready: isReady, findings }
  process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : textOf(report))
  if (!isReady) process.exitCode = 2
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

/** By the settings that only one service has. */
function serviceOf(value: unknown): ServiceName | undefined {
  if (!isObject(value)) return undefined
  const names = serviceNames.filter((service) => ownSettings(service).some((name) => Object.hasOwn(value, name)))
  return names.length === 1 ? names[0] : undefined
}

function ownSettings(service: ServiceName): string[] {
  return Object.keys(services[service].settings.properties).filter((name) => !Object.hasOwn(commonSettings, name))
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
