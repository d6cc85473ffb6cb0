/** Tells which service a configuration belongs to, by the settings that no other service has. */
import { isObject } from '../codec/json.ts'
import { commandName, shellWord } from './command-line.ts'
import { CONFIG_FILE } from './command-table/command.ts'
import { kindLoaders } from './kind-loaders.ts'
import type { KindName } from './service-kind.ts'

/** Returns the service that alone has some settings of the configuration; undefined where that is none, or several. */
export async function serviceOf(value: unknown): Promise<KindName | undefined> {
  if (!isObject(value)) return undefined
  const names = Object.keys(kindLoaders) as KindName[]
  const kinds = await Promise.all(names.map((name) => kindLoaders[name]()))
  const settings = kinds.map((kind) => Object.keys(kind.settings.properties))
  const services = names.filter((_, index) => {
    const others = new Set(settings.filter((_each, otherIndex) => otherIndex !== index).flat())
    return settings[index]?.some((name) => !others.has(name) && Object.hasOwn(value, name)) === true
  })
  return services.length === 1 ? services[0] : undefined
}

/** Returns the message about a configuration that does not tell its service, for commands with `--service`. */
export function unknownServiceMistake(configFile: string): string {
  return `${configFile} could be of either service; say which: --service issuer, or --service verifier`
}

/** A command that takes the configuration of a service. */
interface ServiceCommand {
  readonly name: KindName
  readonly configFile: string
  /** The words before the name of the service. */
  readonly before?: readonly string[]
}

/**
 * Returns the mistake to tell first of a configuration that is another service's, with the command that takes it;
 * undefined where it may be this one's.
 */
export async function otherServiceMistake(
  value: unknown,
  { name, configFile, before = [] }: ServiceCommand,
): Promise<string | undefined> {
  const actualName = await serviceOf(value)
  if (actualName === undefined || actualName === name) return undefined
  const option = configFile === CONFIG_FILE ? [] : ['--config', shellWord(configFile)]
  const command = [commandName(), ...before, actualName, ...option].join(' ')
  const article = actualName === 'verifier' ? 'a' : 'an'
  return `configuration: this is ${article} ${actualName}'s configuration, and not the ${name}'s; use: ${command}`
}
