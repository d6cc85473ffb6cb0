/** Finds the bytes of a component by their hash: in the component directory, or at the URL that its contract names. */
import type { Logger } from 'pino'
import { singleFlightByKey } from '../async/single-flight.ts'
import { sha256Hex } from '../codec/digest.ts'
import type { ComponentCode } from '../component/runtime.ts'
import { type Outbound, OutboundError } from '../http/outbound.ts'
import type { EngineConfig } from './config.ts'
import { isAllowed } from './outbound-hosts.ts'
import type { Watcher } from './watcher.ts'

/** Components on this machine, by their SHA-256 in hexadecimal. */
export interface ComponentFiles {
  /**
   * Reads a component, whose hash it verifies; undefined when there is none. Rejects with a {@link SourceError} when
   * its file cannot be read, has other bytes, or more than `maxBytes`.
   */
  read(sha256: string, maxBytes: number): Promise<Uint8Array | undefined>
  /**
   * Stores a component that was fetched. Of those that were fetched before and that no contract names, as `isNamed`
   * says, some may be removed. Rejects with a {@link SourceError} when that is impossible.
   */
  keep(sha256: string, bytes: Uint8Array, isNamed: (sha256: string) => boolean): Promise<void>
}

export interface SourceContext {
  readonly files: ComponentFiles
  readonly outbound: Outbound
  readonly log: Logger
  readonly config: Pick<EngineConfig, 'outbound' | 'limits' | 'componentDirectory'>
  readonly watcher: Pick<Watcher, 'entries' | 'mayLackContracts'>
}

const FETCH_TIMEOUT_MS = 30_000

/** The error for a component that cannot be found or fetched. The message is for the operator. */
export class SourceError extends Error {
  override readonly name = 'SourceError'
}

interface ComponentReference {
  readonly sha256: string
  readonly uri: string
}

/**
 * Returns the component, whose hash is verified. Fetches it from `uri` when it is not on this machine, and keeps it if
 * it can. Rejects with a {@link SourceError}.
 */
export type FindComponent = (reference: ComponentReference) => Promise<ComponentCode>

/** Makes the function that finds components. Contracts that name the same one share its bytes. */
export function createComponentFinder(context: SourceContext): FindComponent {
  const components = new Map<string, WeakRef<ComponentCode>>()
  return singleFlightByKey(
    ({ sha256, uri }) => `${sha256} ${uri}`,
    async (reference: ComponentReference) => {
      const usedComponent = components.get(reference.sha256)?.deref()
      if (usedComponent !== undefined) return usedComponent
      const component = await findComponent(context, reference)
      for (const [sha256, each] of components) if (each.deref() === undefined) components.delete(sha256)
      components.set(reference.sha256, new WeakRef(component))
      return component
    },
  )
}

async function findComponent(context: SourceContext, { sha256, uri }: ComponentReference): Promise<ComponentCode> {
  const { files, outbound, config } = context
  const storedBytes = await files.read(sha256, config.limits.moduleBytes)
  if (storedBytes !== undefined) return { sha256, bytes: storedBytes }
  const advice = `put it into ${config.componentDirectory}/${sha256}`
  if (uri === '')
    throw new SourceError(`the component ${sha256} is not here, and its contract names no address; ${advice}`)
  if (!isAllowed(uri, config.outbound.allow)) {
    throw new SourceError(
      `the component ${sha256} is not here, and outbound.allow does not have the host of ${uri}; ${advice}`,
    )
  }
  const bytes = await fetchComponent(uri, outbound, config)
  if (sha256Hex(bytes) !== sha256) throw new SourceError(`what is at ${uri} is not the component ${sha256}`)
  await keepOrWarn(context, { sha256, bytes })
  return { sha256, bytes }
}

/** Keeps a component that was fetched, or logs why that is impossible, as the component can be run all the same. */
async function keepOrWarn({ files, log, watcher }: SourceContext, { sha256, bytes }: ComponentCode): Promise<void> {
  const namedHashes = new Set([...watcher.entries()].map(({ contract }) => contract.component?.sha256))
  try {
    // A contract that was not read yet may name any.
    await files.keep(sha256, bytes, (each) => watcher.mayLackContracts() || namedHashes.has(each))
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    const line = { event: 'component_not_kept', sha256, why: error.message }
    log.warn(line, 'the component is served, and is fetched again at the next start')
  }
}

async function fetchComponent(
  uri: string,
  outbound: Outbound,
  { outbound: { allowPrivateAddresses }, limits }: SourceContext['config'],
): Promise<Uint8Array> {
  try {
    const request = { url: uri, timeoutMs: FETCH_TIMEOUT_MS, maxBytes: limits.moduleBytes, allowPrivateAddresses }
    const { status, body } = await outbound(request)
    if (status === 200) return body
    throw new SourceError(`${uri} answered with status ${status}, and not with the component`)
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    throw new SourceError(`${uri} could not be fetched: ${error.message}`, { cause: error })
  }
}
