/**
 * Looks the addresses of host names up. The system's own lookup knows all names that this machine knows, and takes one
 * of few threads for as long as a name server does not answer: it is for names of the operator and of parties whom the
 * operator has configured. Names that strangers chose, which are those of status lists, are asked of the name servers
 * without a thread, so that a name server that never answers makes no other name wait.
 */
import { type LookupAddress, promises, lookup as systemLookup } from 'node:dns'
import { promisify } from 'node:util'
import { serialQueue } from '../../async/concurrency.ts'
import { singleFlightByKey } from '../../async/single-flight.ts'

/** The time limit for name servers, below that of the requests. */
const LIMIT_MS = 4000
/** How long a name server is waited for before it is asked again, or the next one is. */
const TRY_MS = 1300
const TRIES = 2
/** The codes of name servers that know no such name or no such address, and of names that cannot be asked for. */
const NO_ADDRESS = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])
/** The most names that wait for the system; more would wait for longer than their requests do. */
const MAX_WAITING = 8
/** The most addresses of a family that are used: a connection tries each, and their owner chose how many there are. */
const MAX_ADDRESSES = 8

/**
 * Looks up all addresses of a host name as the system does. Those who look the same name up share one look-up, so that
 * a name whose server does not answer takes one thread, however often a stranger has it asked for.
 */
export const lookUpBySystem = singleFlightByKey(
  (hostname) => hostname,
  (hostname: string): Promise<readonly LookupAddress[]> => promisify(systemLookup)(hostname, { all: true }),
)

interface NameServerOptions {
  /** The name servers as addresses with ports; those of the system when absent. */
  readonly servers?: readonly string[]
  readonly limitMs?: number
}

/**
 * Looks up the addresses of a host name at the name servers. Rejects with the code ENOTFOUND if they know none, and
 * with EAI_AGAIN if they give no answer in time.
 */
export async function lookUpAtNameServers(
  hostname: string,
  { servers, limitMs = LIMIT_MS }: NameServerOptions = {},
): Promise<LookupAddress[]> {
  const resolver = new promises.Resolver({ timeout: TRY_MS, tries: TRIES })
  if (servers !== undefined) resolver.setServers(servers)
  const timer = setTimeout(() => resolver.cancel(), limitMs)
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
  clearTimeout(timer)
  const addresses = [
    ...(v4.status === 'fulfilled' ? v4.value.slice(0, MAX_ADDRESSES).map((address) => ({ address, family: 4 })) : []),
    ...(v6.status === 'fulfilled' ? v6.value.slice(0, MAX_ADDRESSES).map((address) => ({ address, family: 6 })) : []),
  ]
  if (addresses.length > 0) return addresses
  const failures = [v4, v6].flatMap((result) => (result.status === 'rejected' ? [result.reason as Error] : []))
  throw lookUpError(hostname, failures)
}

const lookUpInTurn = serialQueue()
let waitingLookUps = 0

/**
 * Looks up the addresses of a host name that a stranger chose and that may be in a private network: at the name servers
 * and, where they give none, by the system, which knows the names of `/etc/hosts` too. The system is asked for one such
 * name at a time, so that these names take one thread at most. Rejects with the error of the system, or of the name
 * servers when too many names wait for the system.
 */
export async function lookUpPrivateName(
  hostname: string,
  options: NameServerOptions = {},
  bySystem = lookUpBySystem,
): Promise<readonly LookupAddress[]> {
  try {
    return await lookUpAtNameServers(hostname, options)
  } catch (error) {
    if (waitingLookUps >= MAX_WAITING) throw error
    waitingLookUps += 1
    try {
      return await lookUpInTurn(() => bySystem(hostname))
    } finally {
      waitingLookUps -= 1
    }
  }
}

function lookUpError(hostname: string, failures: readonly NodeJS.ErrnoException[]): Error {
  const code = failures.every((failure) => NO_ADDRESS.has(failure.code ?? '')) ? 'ENOTFOUND' : 'EAI_AGAIN'
  const error = new Error(`the name servers gave no address of ${hostname}`, { cause: failures[0] })
  return Object.assign(error, { code })
}
