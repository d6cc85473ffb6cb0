/** `GET /engine`: the public status of the engine, with its address, its contracts, and the key of its responses. */
import type { Chain } from '../chain/chain.ts'
import { readOrUndefined } from '../codec/malformed.ts'
import { shortenText } from '../codec/untrusted-text.ts'
import { type Address, evmAddress, parseAddress } from '../offchain/address.ts'
import type { EngineContext } from './context.ts'
import { type ContractEntry, contractStateOf, type HookState } from './contract-entry.ts'
import { makeProblem, ProblemError } from './problem.ts'

/**
 * The most bytes of the contracts in one page. Clients read the key of the engine's responses from the same document,
 * and earlier clients read only 65,536 bytes of it; other contracts must not push the document over that size.
 */
const PAGE_BYTES = 49_152
/** The most hooks of a component that are shown, by name: those of timers come last. */
export const MAX_HOOKS = 20
/** The most characters of a reason in a page; a reason may quote the URL of a component. */
export const MAX_REASON_CHARACTERS = 500

/**
 * Describes the engine with one page of contracts: those whose addresses follow `after`, or the first ones. Throws a
 * ProblemError with `bad-address` when `after` is not an address.
 */
export function describeEngine(context: EngineContext, after: unknown) {
  const { chain, engine, watcher, signer } = context
  const block = watcher.getHead()
  return {
    address: formatAddress(chain, engine),
    chain: { id: chain.id, addresses: chain.addresses },
    block: block === undefined ? null : { number: block.number, hash: block.hash, time: block.time.toISOString() },
    stale: block === undefined || watcher.isStale(),
    response_key: signer.endorsement.public_key,
    endorsement: signer.endorsement,
    ...listContracts(context, watcher.entries(), parseAfter(after)),
  }
}

function parseAfter(after: unknown): Address {
  if (after === undefined) return ''
  const address = typeof after === 'string' ? readOrUndefined(() => parseAddress(after)) : undefined
  if (address !== undefined) return address
  throw new ProblemError(
    makeProblem('bad-address', { detail: '`after` must be one address, as in `next` of the page before' }),
  )
}

/**
 * Returns a page of contracts. `entries` is ordered by address. `next` is the last address of the page when more
 * contracts follow.
 */
function listContracts(context: StatusContext, entries: Iterable<ContractEntry>, after: Address) {
  const contracts: PublicStatus[] = []
  let bytes = 0
  for (const entry of entries) {
    if (entry.address <= after) continue
    const contract = shorten(describeContract(context, entry))
    bytes += Buffer.byteLength(JSON.stringify(contract)) + 1
    if (bytes > PAGE_BYTES) return { contracts, next: contracts.at(-1)?.address }
    contracts.push(contract)
  }
  return { contracts }
}

type StatusContext = Pick<EngineContext, 'chain' | 'now' | 'monotonicMs'>

type PublicStatus = ReturnType<typeof describeContract>

function shorten(status: PublicStatus): PublicStatus {
  return status.why === undefined ? status : { ...status, why: shortenText(status.why, MAX_REASON_CHARACTERS) }
}

/** Returns the hooks of a component that are shown. */
export function firstHooks({ hooks }: { readonly hooks: readonly string[] }): readonly string[] {
  return hooks.slice(0, MAX_HOOKS)
}

/** Formats the address as the tools of its chain do; commands and paths accept either form. */
export function formatAddress({ addresses }: Pick<Chain, 'addresses'>, address: Address): string {
  return addresses === 'evm' ? evmAddress(address) : address
}

/** Returns the public status of a contract. */
export function describeContract(context: StatusContext, entry: ContractEntry) {
  const { contract, state, stateChange } = entry
  return {
    address: formatAddress(context.chain, contract.address),
    state: contractStateOf(entry),
    component: contract.component?.sha256 ?? null,
    hooks: state.kind === 'ready' ? firstHooks(state) : [],
    ...(state.kind === 'failed' ? { why: state.why } : {}),
    state_change: stateChange.dead ? 'dead' : stateChange.pending || stateChange.running ? 'pending' : 'done',
    ...(stateChange.problem === undefined ? {} : { state_change_problem: describeHookProblem(context, stateChange) }),
  }
}

/**
 * Describes why the state change hook fails. Only the log has the component's own message, which may contain secrets.
 */
function describeHookProblem({ now, monotonicMs }: StatusContext, { problem, attempts, dead, notBefore }: HookState) {
  const pauseMs = Math.max(0, notBefore - monotonicMs())
  return {
    why: problem,
    attempts,
    again: dead ? null : new Date(now().getTime() + pauseMs).toISOString(),
    detail: 'the log of this engine has the reason, in lines of this contract with the hook state-change',
  }
}
