/** The services of the demo in this process: creates their files like `vouchsafe init`, and starts their servers. */
import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import type { CommonConfig } from '../../config/common.ts'
import { CONFIG_FILE } from '../command-table/command.ts'
import { filesIn, now, openDatabase } from '../effects.ts'
import { certificateFile, makeFiles, TRUST_ANCHORS, writeFiles } from '../init/files.ts'
import { createLog } from '../log.ts'
import { chooseDefaultHost, findFreePort, findLanAddress } from '../network/network.ts'
import { readConfigFile } from '../service/config-file.ts'
import { credentialServiceKind } from '../service/credential-service-kind.ts'
import {
  type ConfigOf,
  type CredentialServiceName,
  credentialServiceNames,
  credentialServices,
  type StoreOf,
} from '../service/credential-services.ts'
import { buildService, type Service } from '../service/run-service.ts'

/** A running service. */
export interface DemoService {
  /** The URL for wallets. */
  readonly baseUrl: string
  /** The URL for applications on this machine. */
  readonly url: string
  readonly port: number
  readonly apiKey: string
  readonly directory: string
  readonly close: () => Promise<void>
}

const LIST_SECONDS = 5
const NAMES: Readonly<Record<CredentialServiceName, string>> = {
  issuer: 'Example University',
  verifier: 'Example Library',
}

/** The address of a service: at the preferred port, or at another if that is in use. */
export interface DemoAddress {
  readonly preferredPort: number
  readonly port: number
  readonly baseUrl: string
  readonly url: string
}

/**
 * Returns an address for a service, in the local network if this machine has one. With a base URL, wallets use that,
 * and applications use loopback.
 */
export async function findAddress(preferredPort: number, baseUrl: string | undefined): Promise<DemoAddress> {
  const port = await findFreePort(preferredPort)
  if (baseUrl !== undefined) return { preferredPort, port, baseUrl, url: `http://127.0.0.1:${port}` }
  const url = `http://${findLanAddress() ?? '127.0.0.1'}:${port}`
  return { preferredPort, port, baseUrl: url, url }
}

export const logFile = (home: string): string => join(home, 'services.log')

/** Creates the missing files of both services. The verifier trusts the issuer's certificate. */
export async function makeHome(
  home: string,
  addresses: Readonly<Record<CredentialServiceName, DemoAddress>>,
): Promise<void> {
  for (const service of credentialServiceNames) {
    const directory = join(home, service)
    if (existsSync(join(directory, CONFIG_FILE))) continue
    const { baseUrl, port } = addresses[service]
    writeFiles(directory, await makeFiles({ service, baseUrl, port, displayName: NAMES[service] }))
    if (service === 'verifier') {
      const certificate = certificateFile('issuer')
      copyFileSync(join(home, 'issuer', certificate), join(directory, TRUST_ANCHORS, 'example-university.pem'))
    }
  }
}

/** Starts a service with the configuration in its directory, overridden by `settings`. */
export async function startService(
  name: CredentialServiceName,
  home: string,
  place: DemoAddress,
  settings: object = {},
): Promise<DemoService> {
  const directory = join(home, name)
  const config = readConfig(name, directory, place, settings)
  const kind = credentialServiceKind(name)
  const store: StoreOf<CredentialServiceName> = await openDatabase(config.database, credentialServices[name].migrations)
  const service = await buildService(kind, config, store, { log: createLog(name, { file: logFile(home) }) })
  await listenOrClose(service, config)
  const [apiKey = ''] = Object.keys(config.apiKeys)
  const { baseUrl, port, url } = place
  return { baseUrl, url, port, apiKey, directory, close: () => service.close() }
}

async function listenOrClose(service: Service<CommonConfig>, { port }: CommonConfig): Promise<void> {
  try {
    await service.app.listen({ port, host: await chooseDefaultHost() })
  } catch (error) {
    await service.close()
    throw error
  }
}

/** Reads the configuration in `directory` for this run. Its paths are relative to that directory. */
function readConfig(
  name: CredentialServiceName,
  directory: string,
  { port, baseUrl }: DemoAddress,
  settings: object,
): ConfigOf<CredentialServiceName> {
  const { readConfig } = credentialServices[name]
  const path = join(directory, CONFIG_FILE)
  const file = readConfigFile(path)
  // A short ttl, so that a revocation is visible at once.
  const listSettings = name === 'issuer' ? { statusList: { ttlSeconds: LIST_SECONDS } } : {}
  const result =
    'mistakes' in file
      ? file
      : readConfig(
          { ...listSettings, ...(file.value as object), ...settings, port, baseUrl },
          filesIn(directory),
          now(),
        )
  if ('mistakes' in result)
    throw new Error(`${path} cannot be used:\n${result.mistakes.map((each) => `  - ${each}`).join('\n')}`)
  return result.config
}
