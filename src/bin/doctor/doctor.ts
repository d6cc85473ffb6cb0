/** `vouchsafe doctor`: reports everything that is wrong with a configuration, and the facts that support needs. */
import { existsSync } from 'node:fs'
import { files, now } from '../effects.ts'
import { addEnvironment, readConfigFile } from '../service/config-file.ts'
import { type CredentialServiceName, credentialServices } from '../service/credential-services.ts'
import { isServiceName, serviceNames } from '../service/kind-loaders.ts'
import type { ServiceName } from '../service/service-kind.ts'
import { findOtherServiceMistake, findService } from '../service/which-service.ts'
import { commandName, readWords, serviceProblem } from '../terminal/command-line.ts'
import { findConfigurationFileFindings } from './configuration-file.ts'
import { diagnose } from './diagnosis.ts'
import { type Finding, findingOfMistake, makeFinding } from './finding.ts'
import { describeMachine } from './machine.ts'
import { redactSettings } from './redact.ts'
import { printReport } from './report.ts'

/** Runs `vouchsafe doctor` with the words after it. */
export async function runDoctor(args: string[]): Promise<void> {
  const { values, positionals } = readWords('doctor', args)
  const alone = readConfigFile(values.config, positionals[0])
  const service = namedService(positionals) ?? (await findService('value' in alone ? alone.value : undefined))
  const otherFindings = await findOtherServiceFindings(
    'value' in alone ? alone.value : undefined,
    service,
    values.config,
  )
  if (service === 'engine') {
    const { runDoctorEngine } = await import('../engine/commands.ts')
    return runDoctorEngine(values.config, values.json, otherFindings)
  }
  const file = service === undefined ? alone : addEnvironment(credentialServices[service].settings, alone)
  const value = 'value' in file ? file.value : undefined
  const findings =
    'mistakes' in file
      ? file.mistakes.map((text) => makeFinding('configuration', 'problem', text))
      : service === undefined
        ? [UNKNOWN_SERVICE]
        : [...otherFindings, ...(await findingsOf(service, value, values.config))]
  const settings =
    value === undefined || service === undefined
      ? undefined
      : redactSettings(credentialServices[service].settings, value, existsSync)
  const machine = describeMachine(now())
  printReport({ service: service ?? null, config: values.config, machine, settings, findings }, values.json)
}

/** Runs the diagnosis, and adds findings about the configuration file itself. */
async function findingsOf(service: CredentialServiceName, value: unknown, configFile: string): Promise<Finding[]> {
  const findings = await diagnose({ service, value, configFile }, files, now())
  return [...findConfigurationFileFindings(configFile, findings), ...findings]
}

/** Returns a problem if the configuration is of another service than the one that is named. */
async function findOtherServiceFindings(
  value: unknown,
  name: ServiceName | undefined,
  configFile: string,
): Promise<Finding[]> {
  const mistake = name && (await findOtherServiceMistake(value, { name, configFile, before: ['doctor'] }))
  return mistake === undefined ? [] : [findingOfMistake('problem', mistake)]
}

const UNKNOWN_SERVICE = makeFinding(
  'configuration',
  'problem',
  `it does not tell whose configuration it is; name the service (${serviceNames.join(', ')}), as in: ${commandName()} doctor issuer`,
)

function namedService(positionals: readonly string[]): ServiceName | undefined {
  const [word, ...more] = positionals
  if (word === undefined) return undefined
  if (more.length === 0 && isServiceName(word)) return word
  throw new Error(serviceProblem('doctor', positionals))
}
