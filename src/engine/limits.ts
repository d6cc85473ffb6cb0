/**
 * The limits on the resources of an engine that a component, a client or a contract may use. Each limit has a default,
 * and /metrics shows its value.
 */
import * as Type from 'typebox'
import { GAS_PRICE_GWEI } from '../chain/chain.ts'
import { DEFAULT_LIMITS } from '../component/runtime.ts'

const KIB = 1024
const MIB = 1024 * KIB

/** The bytes that count for the row of a stored value, beside those of its bucket, key and value. */
export const ROW_BYTES = 256

interface Limit {
  readonly standard: number
  readonly minimum: number
  readonly maximum: number
  readonly about: string
}

const limit = (standard: number, about: string, minimum = 1, maximum = 1024 * MIB): Limit => {
  return { standard, minimum, maximum, about }
}

/** The limits by name; the component runtime enforces those that are in {@link DEFAULT_LIMITS}. */
const table = {
  bodyBytes: limit(MIB, 'Body of a request', 0),
  headerBytes: limit(16 * KIB, 'Header fields of a request', KIB, 256 * KIB),
  targetBytes: limit(8 * KIB, 'Target of a request: path and query', 64, 256 * KIB),
  responseBytes: limit(DEFAULT_LIMITS.responseBytes, 'Response of a component'),
  httpSeconds: limit(5, 'How long a component may take for a request', 1, 600),
  stateChangeSeconds: limit(30, 'How long a component may take for a change of state, or a timer', 1, 3600),
  memoryBytes: limit(
    DEFAULT_LIMITS.memoryBytes,
    'Memory of a running component; the scripts that a worker keeps loaded take at most four times that',
    64 * KIB,
    4096 * MIB,
  ),
  moduleBytes: limit(DEFAULT_LIMITS.moduleBytes, 'Bytes of a component', KIB, 256 * MIB),
  logBytes: limit(DEFAULT_LIMITS.logBytes, 'Bytes that a component may log in a call', 0),
  outboundRequests: limit(DEFAULT_LIMITS.outboundRequests, 'Requests of a call to other hosts', 0, 1000),
  outboundSeconds: limit(10, 'Seconds that a request of a call to another host may take', 1, 600),
  outboundBytes: limit(DEFAULT_LIMITS.outboundBytes, 'Bytes of the body of such a request, and of the answer'),
  httpReads: limit(DEFAULT_LIMITS.httpReads, 'Reads of the contract for a request to its component', 0, 1_000_000),
  stateChangeReads: limit(
    DEFAULT_LIMITS.stateChangeReads,
    'Reads of the contract for a change of state, or a timer',
    0,
    1_000_000,
  ),
  storageChanges: limit(DEFAULT_LIMITS.storageChanges, 'Stored values that a call may change', 1, 1_000_000),
  transactions: limit(DEFAULT_LIMITS.transactions, 'Transactions of a call', 0, 1000),
  transactionBytes: limit(DEFAULT_LIMITS.transactionBytes, 'Payload of a transaction'),
  outboxTransactions: limit(1000, 'Transactions of a contract that wait to be included', 1, 100_000),
  outboxBytes: limit(8 * MIB, 'Payloads of the transactions of a contract that wait to be included'),
  transactionsPerDay: limit(
    10_000,
    'Transactions of a contract in a day of UTC, which the engine may have to pay',
    0,
    1_000_000_000,
  ),
  transactionGas: limit(
    5_000_000,
    'Gas of a transaction of a component: more is lowered to it, and what needs more is given up',
    21_000,
    1_000_000_000,
  ),
  gasPriceGwei: limit(
    GAS_PRICE_GWEI.standard,
    'Price of a unit of gas on an EVM chain, in gwei (a billionth of its coin): a transaction waits while the node asks for more',
    GAS_PRICE_GWEI.least,
    GAS_PRICE_GWEI.most,
  ),
  randomBytes: limit(DEFAULT_LIMITS.randomBytes, 'Random bytes of a call', 0),
  storageKeyBytes: limit(DEFAULT_LIMITS.storageKeyBytes, 'Bucket and key of a stored value'),
  storageValueBytes: limit(DEFAULT_LIMITS.storageValueBytes, 'A stored value'),
  storageBytes: limit(
    256 * MIB,
    `All stored values of a contract, with their keys and ${ROW_BYTES} bytes for each`,
    0,
    1024 * 1024 * MIB,
  ),
  timers: limit(DEFAULT_LIMITS.timers, 'Timers of a contract', 0, 10_000),
  timerBytes: limit(DEFAULT_LIMITS.timerBytes, 'Payload of a timer', 0),
  concurrent: limit(8, 'Calls of a contract that run at once', 1, 1000),
  queued: limit(64, 'Calls of a contract that wait', 0, 100_000),
  queueSeconds: limit(10, 'How long a call may wait', 1, 600),
  bufferedBytes: limit(64 * MIB, 'Bodies that are in memory at once, of all requests'),
  requestsPerSecond: limit(50, 'Requests from one address', 1, 1_000_000),
  requestBurst: limit(100, 'Requests from one address at once', 1, 1_000_000),
} as const satisfies Record<string, Limit>

export type Limits = { readonly [Name in keyof typeof table]: number }

const settingOf = ({ standard, minimum, maximum, about }: Limit) =>
  Type.Optional(Type.Integer({ minimum, maximum, description: `${about}; ${standard} when absent` }))

const names = Object.keys(table) as readonly (keyof Limits)[]

type Settings = { -readonly [Name in keyof Limits]: ReturnType<typeof settingOf> }

export const LimitSettings = Type.Object(
  Object.fromEntries(names.map((name) => [name, settingOf(table[name])])) as Settings,
  { additionalProperties: false },
)

/** Returns the configured limits, and the default of each limit that is not configured. */
export function limitsOf(settings: Partial<Limits> = {}): Limits {
  const entries = names.map((name) => [name, settings[name] ?? table[name].standard] as const)
  return Object.fromEntries(entries) as unknown as Limits
}
