/** `vouchsafe doctor engine`: checks the configuration of an engine before it starts. */
import { existsSync } from 'node:fs'
import type { Chain, Head } from '../../chain/chain.ts'
import { checkSettings } from '../../config/common.ts'
import { readDatabase } from '../../config/database.ts'
import { readKeyAndCertificates } from '../../config/signing.ts'
import { engineMigrations } from '../../engine/collections.ts'
import { SourceError } from '../../engine/component-source.ts'
import { type EngineConfig, EngineSettings, engineDefaults, readEngineConfig } from '../../engine/config.ts'
import { formatAddress } from '../../engine/status.ts'
import type { Address } from '../../offchain/address.ts'
import { checkBuiltFiles } from '../../toolchain/places.ts'
import { ENGINE_TITLE, findAddressFindings } from '../doctor/address.ts'
import { findValidityFindings } from '../doctor/certificates.ts'
import { findConfigurationFileFindings } from '../doctor/configuration-file.ts'
import { embeddedFileOf, findDatabaseFindings } from '../doctor/database.ts'
import { type Finding, findingOfMistake, makeFinding, removeRepetitions } from '../doctor/finding.ts'
import { describeMachine, findStorageFindings } from '../doctor/machine.ts'
import { findPrivateFileFindings } from '../doctor/private-file.ts'
import { redactSettings } from '../doctor/redact.ts'
import { printReport } from '../doctor/report.ts'
import { files, now } from '../effects.ts'
import { addEnvironment, readConfigFile } from '../service/config-file.ts'
import { chainComponents, openChain } from './chain.ts'
import { createComponentFiles } from './component-files.ts'
import { findStoredChainMistake } from './database-chain.ts'

const MAX_CONTRACTS = 50

/** A chain that can be reached, its latest block, and the address of this engine. */
interface ReachedChain {
  readonly chain: Chain
  readonly head: Head
  readonly engine: Address
}

/** Runs `vouchsafe doctor engine`, and prints the findings; `otherFindings` are of a file of another service. */
export async function doctorEngine(
  configFile: string,
  json: boolean,
  otherFindings: readonly Finding[],
): Promise<void> {
  const file = addEnvironment(EngineSettings, readConfigFile(configFile, 'engine'))
  const findings =
    'mistakes' in file
      ? file.mistakes.map((text) => makeFinding('configuration', 'problem', text))
      : await diagnose(file.value, configFile)
  const fileFindings = findConfigurationFileFindings(configFile, findings)
  const settings = 'value' in file ? redactSettings(EngineSettings, file.value, existsSync) : undefined
  const machine = describeMachine(now())
  printReport(
    {
      service: 'engine',
      config: configFile,
      machine,
      settings,
      findings: [...otherFindings, ...fileFindings, ...findings],
    },
    json,
  )
}

async function diagnose(value: unknown, configFile: string): Promise<Finding[]> {
  const { settings } = checkSettings(EngineSettings, value)
  const configResult = readEngineConfig(value, files, now())
  const database = readDatabase(settings.database, engineDefaults.databaseFile, files)
  const { baseUrl, host, port = engineDefaults.port, identity, tls, management } = settings
  const tlsKey = tls && readKeyAndCertificates({ settingPath: 'tls', purpose: 'tls', now: now() }, tls, files)
  const started = { service: 'engine', configFile } as const
  const installation = findInstallationFindings()
  const isReported = (finding: Finding): boolean => installation.some(({ text }) => text === finding.text)
  return removeRepetitions([
    ...installation,
    ...('mistakes' in configResult
      ? configResult.mistakes.map((mistake) => findingOfMistake('problem', mistake))
      : [
          makeFinding('settings', 'ok', 'every one is known and complete'),
          ...configResult.warnings.map((warning) => findingOfMistake('warning', warning)),
        ]),
    ...(identity ? findPrivateFileFindings('identity', identity.keyFile) : []),
    ...(tlsKey && 'key' in tlsKey ? findValidityFindings('tls', tlsKey.chain, now()) : []),
    ...(tls ? findPrivateFileFindings('tls', tls.keyFile) : []),
    ...(await findAddressFindings({
      baseUrl,
      port,
      host,
      title: ENGINE_TITLE,
      management,
      started,
      databaseFile: embeddedFileOf(database),
    })),
    ...('mistakes' in database ? [] : await findDatabaseFindings(database.database, engineMigrations)),
    ...('mistakes' in database ? [] : await findStorageFindings(database.database)),
    // A local chain is read by a program of this installation.
    ...('mistakes' in configResult
      ? []
      : (await findChainFindings(configResult.config)).filter((finding) => !isReported(finding))),
  ])
}

function findInstallationFindings(): Finding[] {
  try {
    checkBuiltFiles()
    return []
  } catch (error) {
    return [makeFinding('installation', 'problem', (error as Error).message)]
  }
}

/** Returns the findings about the chain, and about contracts of this engine. */
async function findChainFindings(config: EngineConfig): Promise<Finding[]> {
  const notes: Finding[] = []
  // Opening a local chain would create it, and the doctor must not change anything.
  if (config.chain.type === 'local' && !existsSync(config.chain.directory)) {
    return [makeFinding('chain', 'note', `${config.chain.directory} is not there; the engine begins a chain in it`)]
  }
  try {
    const chain = await openChain(config, (text) => notes.push(makeFinding('chain', 'warning', text)))
    const otherChain = await findStoredChainMistake(config, chain.id)
    if (otherChain !== undefined) return [findingOfMistake('problem', otherChain)]
    const head = await chain.fetchHead()
    const engine = chain.createAccount(config.identity.privateKey).address
    const answer = makeFinding(
      'chain',
      'ok',
      `chain ${chain.id} answers, at block ${head.number}; this engine is ${formatAddress(chain, engine)}`,
    )
    return [answer, ...notes, ...(await findContractFindings(config, { chain, head, engine }))]
  } catch (error) {
    const text = (error as Error).message
    return [/^chain(\.\w+)?: /.test(text) ? findingOfMistake('problem', text) : makeFinding('chain', 'problem', text)]
  }
}

async function findContractFindings(config: EngineConfig, { chain, head, engine }: ReachedChain): Promise<Finding[]> {
  const { contractFilter: filter } = config
  const isList = filter !== 'all' && 'addresses' in filter
  const addresses = isList ? filter.addresses : ((await chain.listContracts?.(head)) ?? [])
  const findings: Finding[] = []
  for (const address of addresses.slice(0, MAX_CONTRACTS)) {
    const contract = await chain.fetchContract(address, head)
    const name = formatAddress(chain, address)
    const component = contract?.component?.sha256 ?? config.components.get(address)
    const lists = contract?.engines?.find((each) => each.address === engine)
    if (contract === undefined)
      findings.push(makeFinding('contractFilter', 'warning', `${name} has no off-chain component`))
    else if (contract.engines !== undefined && lists === undefined) {
      findings.push(
        makeFinding('contractFilter', 'warning', `${name} does not list this engine, which will answer 421`),
      )
    } else if (component === undefined) {
      findings.push(
        makeFinding('components', 'warning', `${name} says of no component which is its own; name one here`),
      )
    } else
      findings.push(...(await findComponentFindings(config, name, { sha256: component, endpoint: lists?.endpoint })))
  }
  return findings
}

async function findComponentFindings(
  config: EngineConfig,
  name: string,
  { sha256, endpoint = '' }: { readonly sha256: string; readonly endpoint: string | undefined },
): Promise<Finding[]> {
  const isElsewhere = endpoint !== '' && config.baseUrl !== undefined && endpoint !== config.baseUrl
  return [
    await presenceFinding(config, name, sha256),
    ...(isElsewhere
      ? [makeFinding('baseUrl', 'warning', `${name} lists this engine at ${endpoint}, and not at ${config.baseUrl}`)]
      : []),
  ]
}

/** Returns the finding whether the component of a contract is on this machine. */
async function presenceFinding(config: EngineConfig, name: string, sha256: string): Promise<Finding> {
  const componentFiles = createComponentFiles([config.componentDirectory, ...chainComponents(config)])
  try {
    if ((await componentFiles.read(sha256, config.limits.moduleBytes)) !== undefined) {
      return makeFinding('contracts', 'ok', `${name} is served`)
    }
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    return makeFinding('componentDirectory', 'problem', `${name} is not served: ${error.message}`)
  }
  return makeFinding(
    'componentDirectory',
    'warning',
    `the component ${sha256} of ${name} is not there; it is fetched if outbound.allow has its host`,
  )
}
