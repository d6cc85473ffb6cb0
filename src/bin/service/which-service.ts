/** Finds the service of a configuration, by the settings that only one service has. */
import { isObject } from '../../codec/json.ts'
import { CONFIG_FILE } from '../command-table/command.ts'
import { commandName, shellWord } from '../terminal/command-line.ts'
import { kindLoaders, serviceNames } from './kind-loaders.ts'
import type { ServiceName } from './service-kind.ts'

/**
 * Returns the only service with a setting of its own in the configuration `value`; undefined if no service or several
 * services have such a setting.
 */
export async function findService(value: unknown): Promise<ServiceName | undefined> {
  if (!isObject(value)) return undefined
  const kinds = await Promise.all(serviceNames.map((name) => kindLoaders[name]()))
  const settings = kinds.map((kind) => Object.keys(kind.settings.properties))
  const services = serviceNames.filter((_, index) => {
    const others = new Set(settings.filter((_each, otherIndex) => otherIndex !== index).flat())
    return settings[index]?.some((name) => !others.has(name) && Object.hasOwn(value, name)) === true
  })
  return services.length === 1 ? services[0] : undefined
}

/**
 * Returns the service of a configuration for a command that is about one of `services`. Throws a message for the
 * operator if the configuration does not tell its service, or is of another one.
 */
export async function requireService(
  value: unknown,
  configFile: string,
  services: readonly ServiceName[],
): Promise<ServiceName> {
  const name = await findService(value)
  if (name === undefined) {
    const options = services.map((service) => `--service ${service}`).join(', or ')
    throw new Error(`${configFile} does not tell whose configuration it is; name the service: ${options}`)
  }
  if (services.includes(name)) return name
  const others = services.map(withArticle).join(' or ')
  throw new Error(`${configFile} is ${withArticle(name)}'s configuration; name one of ${others}`)
}

function withArticle(name: ServiceName): string {
  return name === 'verifier' ? `a ${name}` : `an ${name}`
}

/** A command that takes the configuration of a service. */
interface ServiceCommand {
  readonly name: ServiceName
  readonly configFile: string
  /** The words before the name of the service. */
  readonly before?: readonly string[]
}

/**
 * Returns the mistake for a configuration of another service, with the right command; undefined if it may be of this
 * one.
 */
export async function findOtherServiceMistake(
  value: unknown,
  { name, configFile, before = [] }: ServiceCommand,
): Promise<string | undefined> {
  const other = await findOther(value, name)
  if (other === undefined) return undefined
  const option = configFile === CONFIG_FILE ? [] : ['--config', shellWord(configFile)]
  const command = [commandName(), ...before, other.name, ...option].join(' ')
  return `configuration: ${other.text}; use: ${command}`
}

/** Throws a message for the operator if the configuration is of another service than the command is for. */
export async function refuseOtherService(value: unknown, name: ServiceName, configFile: string): Promise<void> {
  const other = await findOther(value, name)
  if (other !== undefined) throw new Error(`${configFile}: ${other.text}`)
}

async function findOther(
  value: unknown,
  name: ServiceName,
): Promise<{ readonly name: ServiceName; readonly text: string } | undefined> {
  const actualName = await findService(value)
  if (actualName === undefined || actualName === name) return undefined
  return { name: actualName, text: `this is ${withArticle(actualName)}'s configuration, and not the ${name}'s` }
}
