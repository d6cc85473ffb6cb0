/** Which service a configuration is of, by the settings that no other has. */
import { isObject } from '../codec/json.ts'
import { commonSettings } from '../config/common.ts'
import { type ServiceName, serviceNames, services } from './services.ts'

/** Whether it is an engine's, whose schema is not loaded to find out. */
export function isEngines(value: unknown): boolean {
  return isObject(value) && ['identity', 'contractFilter', 'staleSeconds'].some((name) => Object.hasOwn(value, name))
}

/** By the settings that only one service has. */
export function serviceOf(value: unknown): ServiceName | undefined {
  if (!isObject(value)) return undefined
  const names = serviceNames.filter((service) => ownSettings(service).some((name) => Object.hasOwn(value, name)))
  return names.length === 1 ? names[0] : undefined
}

function ownSettings(service: ServiceName): string[] {
  return Object.keys(services[service].settings.properties).filter((name) => !Object.hasOwn(commonSettings, name))
}

/** What is said first of a configuration that is the other service's. */
export function otherServiceMistake(name: ServiceName, value: unknown): string | undefined {
  if (isEngines(value)) return `configuration: this is an engine's configuration, and not the ${name}'s`
  const other = serviceOf(value)
  if (other === undefined || other === name) return undefined
  return `configuration: this is ${other === 'issuer' ? 'an' : 'a'} ${other}'s configuration, and not the ${name}'s`
}
