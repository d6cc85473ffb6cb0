/** Reads the configuration of the service that a command of an operator is about. */
import { readConfigFile, requireConfig } from './config-file.ts'
import { kindLoaders, serviceNames } from './kind-loaders.ts'
import type { ListeningConfig, ServiceKind, ServiceName } from './service-kind.ts'
import { refuseOtherService, requireService } from './which-service.ts'

/** The service that a command is about, with its configuration. */
export interface ConfiguredService {
  readonly kind: ServiceKind
  readonly config: ListeningConfig
}

/** The words of a command that name its service: the option, if the configuration does not tell it, and the file. */
export interface ServiceWords {
  readonly service?: ServiceName | undefined
  readonly config: string
}

/**
 * Reads the configuration of the service, which is one of `services`, from its file and the environment. Throws a
 * message for the operator if it is invalid.
 */
export async function readConfiguredService(
  { service, config: configFile }: ServiceWords,
  services: readonly ServiceName[] = serviceNames,
): Promise<ConfiguredService> {
  const file = readConfigFile(configFile, service)
  if ('mistakes' in file) throw new Error(file.mistakes.join('\n'))
  const name = service ?? (await requireService(file.value, configFile, services))
  const kind = await kindLoaders[name]()
  await refuseOtherService(file.value, name, configFile)
  return { kind, config: requireConfig(kind, configFile, file) }
}
