/**
 * Reads the settings `chain`, `contractFilter` and `components` of an engine: the chain that it uses, and the contracts
 * that it serves.
 */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { readOrUndefined } from '../codec/malformed.ts'
import { type Address, parseAddress } from '../offchain/address.ts'

/** Wallets and exchanges usually wait for as many blocks on Ethereum's main chain, some two and a half minutes. */
const CONFIRMATIONS = 12

export const ChainSetting = Type.Object(
  {
    type: Type.Union([Type.Literal('local'), Type.Literal('evm'), Type.Literal('partisia')], {
      description: '`local`: a directory; `evm`: JSON-RPC of a node; `partisia`: REST of a reader node',
    }),
    directory: Type.Optional(Type.String({ description: 'The directory of the blocks of a local chain' })),
    rpcUrl: Type.Optional(Type.String({ description: 'The JSON-RPC address of a node of an EVM chain' })),
    confirmations: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 10_000,
        description: `The number of blocks after which a block of an EVM chain is final enough; ${CONFIRMATIONS} when absent`,
      }),
    ),
    blocksOnDemand: Type.Optional(
      Type.Boolean({
        description:
          'Whether the chain makes a block for a transaction and none otherwise, so that its newest block may be of any age; false when absent. A local chain always is such a chain',
      }),
    ),
    readerUrl: Type.Optional(Type.String({ description: 'The address of a reader node of a Partisia chain' })),
    chainId: Type.Optional(
      Type.String({ minLength: 1, description: 'Must be the id that the chain says; whatever it says when absent' }),
    ),
  },
  { additionalProperties: false },
)

export const FilterSetting = Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 10_000 })], {
  description:
    'The contracts that may be served: addresses, the address of a registry contract, or "all" (local and Partisia chains, where it is "all" when absent); required on an EVM chain',
})

export const ComponentsSetting = Type.Record(Type.String(), Type.String(), {
  description: 'The components of contracts that do not say which is theirs: address to SHA-256 in hexadecimal',
})

export type ChainConfig = {
  /** Whether the chain makes blocks only for transactions, so that its newest block may be of any age. */
  readonly blocksOnDemand: boolean
} & (
  | { readonly type: 'local'; readonly directory: string }
  | {
      readonly type: 'evm'
      readonly rpcUrl: string
      readonly confirmations: number
      readonly chainId: string | undefined
    }
  | { readonly type: 'partisia'; readonly readerUrl: string; readonly chainId: string | undefined }
)

export type ContractFilter = 'all' | { readonly registry: Address } | { readonly addresses: readonly Address[] }

interface Settings {
  readonly chain?: Static<typeof ChainSetting>
  readonly contractFilter?: Static<typeof FilterSetting>
  readonly components?: Static<typeof ComponentsSetting>
}

export interface ChainSettings {
  readonly chain: ChainConfig
  readonly contractFilter: ContractFilter
  readonly components: ReadonlyMap<Address, string>
}

const MEMBERS_OF_TYPE = {
  local: ['directory'],
  evm: ['rpcUrl', 'confirmations', 'chainId', 'blocksOnDemand'],
  partisia: ['readerUrl', 'chainId', 'blocksOnDemand'],
} as const
const REQUIRED_MEMBER = { local: 'directory', evm: 'rpcUrl', partisia: 'readerUrl' } as const

/**
 * Returns the chain and its contracts, or the mistakes in the settings that their schema does not find. `type` is the
 * type of the chain; when the schema finds a mistake in `chain`, the settings lack it, and only `type` tells.
 */
export function readChainSettings(
  settings: Settings,
  type: unknown = settings.chain?.type,
): ChainSettings | { readonly mistakes: readonly string[] } {
  const { chain } = settings
  const mistakes = [
    ...(chain === undefined ? [] : findChainMistakes(chain)),
    ...filterMistakes(settings.contractFilter, type),
    ...componentMistakes(settings.components ?? {}),
  ]
  if (chain === undefined || mistakes.length > 0) return { mistakes }
  return {
    chain: chainOf(chain),
    contractFilter: filterOf(settings.contractFilter),
    components: new Map(
      Object.entries(settings.components ?? {}).map(([address, sha256]) => [
        parseAddress(address),
        sha256.replace(/^0x/i, '').toLowerCase(),
      ]),
    ),
  }
}

function findChainMistakes(chain: NonNullable<Settings['chain']>): string[] {
  const { type, ...members } = chain
  const allowedMembers: readonly string[] = MEMBERS_OF_TYPE[type]
  const requiredMember = REQUIRED_MEMBER[type]
  const foreignMembers = Object.keys(members).filter((name) => !allowedMembers.includes(name))
  return [
    ...(chain[requiredMember] === undefined ? [`chain.${requiredMember}: required for a chain of type ${type}`] : []),
    ...foreignMembers.map((name) => `chain.${name}: it is not for a chain of type ${type}; leave it out`),
    ...urlMistakes('chain.rpcUrl', chain.rpcUrl),
    ...urlMistakes('chain.readerUrl', chain.readerUrl),
  ]
}

function urlMistakes(path: string, url: string | undefined): string[] {
  if (url === undefined) return []
  const isUrl = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
  return isUrl ? [] : [`${path}: it must be a URL that begins with https:// or http://`]
}

function filterMistakes(filter: Settings['contractFilter'], type: unknown): string[] {
  if (filter === undefined) {
    return type === 'evm' ? ['contractFilter: required for a chain of type evm; name the contracts to serve'] : []
  }
  if (filter === 'all') {
    return type === 'evm' ? ['contractFilter: "all" is for local and Partisia chains; name the contracts to serve'] : []
  }
  if (typeof filter === 'string') {
    if (!isAddress(filter))
      return ['contractFilter: it must be a list of addresses, the address of a registry, or "all"']
    return type === 'partisia' ? ['contractFilter: a registry is a contract of an EVM chain; write a list'] : []
  }
  return filter.flatMap((address, index) =>
    isAddress(address) ? [] : [`contractFilter[${index}]: it must be an address of 20 or 21 bytes in hexadecimal`],
  )
}

function componentMistakes(components: Readonly<Record<string, string>>): string[] {
  return Object.entries(components).flatMap(([address, sha256]) => [
    ...(isAddress(address) ? [] : [`components.${address}: it must be an address of 20 or 21 bytes in hexadecimal`]),
    ...(/^(0x)?[0-9a-f]{64}$/i.test(sha256) ? [] : [`components.${address}: it must be a SHA-256 in hexadecimal`]),
  ])
}

function isAddress(text: string): boolean {
  return readOrUndefined(() => parseAddress(text)) !== undefined
}

function chainOf(chain: NonNullable<Settings['chain']>): ChainConfig {
  const { type, directory = '', rpcUrl = '', readerUrl = '', confirmations = CONFIRMATIONS, chainId } = chain
  if (type === 'local') return { type, directory, blocksOnDemand: true }
  const { blocksOnDemand = false } = chain
  if (type === 'evm') return { type, rpcUrl, confirmations, chainId, blocksOnDemand }
  return { type, readerUrl, chainId, blocksOnDemand }
}

function filterOf(filter: Settings['contractFilter'] = 'all'): ContractFilter {
  if (filter === 'all') return 'all'
  return typeof filter === 'string' ? { registry: parseAddress(filter) } : { addresses: filter.map(parseAddress) }
}
