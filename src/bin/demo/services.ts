/** Both services of the demo in this process: their files, made as `vouchsafe init` makes them, and their servers. */
import { copyFileSync, existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { CommonConfig } from '../../config/common.ts'
import type { Files } from '../../config/files.ts'
import { CONFIG_FILE } from '../command-table/command.ts'
import { readConfigFile } from '../config-file.ts'
import { credentialServiceKind } from '../credential-service-kind.ts'
import {
  type ConfigOf,
  type CredentialServiceName,
  credentialServiceNames,
  credentialServices,
  type StoreOf,
} from '../credential-services.ts'
import { files, now, openDatabase } from '../effects.ts'
import { certificateFile, makeFiles, TRUST_ANCHORS, writeFiles } from '../init/files.ts'
import { createLog } from '../log.ts'
import { defaultHost, freePort, lanAddress } from '../network.ts'
import { buildService, type Service } from '../service.ts'

/** A listening service. */
export interface DemoService {
  readonly baseUrl: string
  readonly apiKey: string
  readonly directory: string
  readonly close: () => Promise<void>
}

const NAMES: Readonly<Record<CredentialServiceName, string>> = {
  issuer: 'Example University',
  verifier: 'Example Library',
}

/** The address of a service: at the preferred port, or at another when that one is taken. */
export interface DemoAddress {
  readonly preferredPort: number
  readonly port: number
  readonly baseUrl: string
}

/** Finds an address for a service, on the network of this machine when it has one. */
export async function findAddress(preferredPort: number): Promise<DemoAddress> {
  const port = await freePort(preferredPort)
  return { preferredPort, port, baseUrl: `http://${lanAddress() ?? '127.0.0.1'}:${port}` }
}

export const logFile = (home: string): string => join(home, 'services.log')

/** Makes the missing files of both services, and gives the verifier the issuer's certificate. */
export async function makeHome(
  home: string,
  places: Readonly<Record<CredentialServiceName, DemoAddress>>,
): Promise<void> {
  for (const service of credentialServiceNames) {
    const directory = join(home, service)
    if (existsSync(join(directory, CONFIG_FILE))) continue
    const { baseUrl, port } = places[service]
    writeFiles(directory, await makeFiles({ service, baseUrl, port, displayName: NAMES[service] }))
    if (service === 'verifier') {
      const certificate = certificateFile('issuer')
      copyFileSync(join(home, 'issuer', certificate), join(directory, TRUST_ANCHORS, 'example-university.pem'))
    }
  }
}

export async function startService(
  name: CredentialServiceName,
  home: string,
  place: DemoAddress,
): Promise<DemoService> {
  const directory = join(home, name)
  const config = readConfig(name, directory, place)
  const kind = credentialServiceKind(name)
  const store: StoreOf<CredentialServiceName> = await openDatabase(config.database, credentialServices[name].migrations)
  return listen(await buildService(kind, config, store, createLog(name, logFile(home))), config, directory)
}

async function listen(service: Service<CommonConfig>, config: CommonConfig, directory: string): Promise<DemoService> {
  const [apiKey = ''] = Object.keys(config.apiKeys)
  const { baseUrl, port } = config
  try {
    await service.app.listen({ port, host: await defaultHost() })
  } catch (error) {
    await service.close()
    throw error
  }
  return { baseUrl, apiKey, directory, close: () => service.close() }
}

/** Reads the configuration in `directory` for the address of this run; its paths are relative to that directory. */
function readConfig(
  name: CredentialServiceName,
  directory: string,
  { port, baseUrl }: DemoAddress,
): ConfigOf<CredentialServiceName> {
  const { read } = credentialServices[name]
  const path = join(directory, CONFIG_FILE)
  const file = readConfigFile(path)
  const inDirectory: Files = {
    read: (relative) => files.read(resolve(directory, relative)),
    list: (relative) => files.list(resolve(directory, relative)),
  }
  const result = 'mistakes' in file ? file : read({ ...(file.value as object), port, baseUrl }, inDirectory, now())
  if ('mistakes' in result)
    throw new Error(`${path} cannot be used:\n${result.mistakes.map((each) => `  - ${each}`).join('\n')}`)
  const { database } = result.config
  const inPlace = database.kind === 'sqlite' ? { ...database, file: resolve(directory, database.file) } : database
  return { ...result.config, database: inPlace }
}
