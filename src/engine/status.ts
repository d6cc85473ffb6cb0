/** `GET /engine`: shows the engine's address, its contracts, and the key of its answers, all of which are public. */
import type { Chain } from '../chain/chain.ts'
import { type Address, evmAddress } from '../offchain/address.ts'
import type { EngineContext } from './context.ts'
import { type ContractEntry, contractStateOf, type HookState } from './contract-entry.ts'

export function describeEngine({ chain, engine, watcher, signer }: EngineContext) {
  const block = watcher.getBlock()
  return {
    address: formatAddress(chain, engine),
    chain: { id: chain.id, addresses: chain.addresses },
    block: block === undefined ? null : { number: block.number, hash: block.hash, time: block.time.toISOString() },
    stale: block === undefined || watcher.isStale(),
    response_key: signer.endorsement.public_key,
    endorsement: signer.endorsement,
    contracts: [...watcher.entries()].map((entry) => describeContract(chain, entry)),
  }
}

/** Formats the address as the tools of its chain do; commands and paths accept either form. */
export function formatAddress({ addresses }: Pick<Chain, 'addresses'>, address: Address): string {
  return addresses === 'evm' ? evmAddress(address) : address
}

/** Returns the public status of a contract. */
export function describeContract(chain: Pick<Chain, 'addresses'>, entry: ContractEntry) {
  const { contract, state, hook } = entry
  return {
    address: formatAddress(chain, contract.address),
    state: contractStateOf(entry),
    component: contract.component?.sha256 ?? null,
    hooks: state.kind === 'ready' ? state.hooks : [],
    ...(state.kind === 'failed' ? { why: state.why } : {}),
    state_change: hook.dead ? 'dead' : hook.pending || hook.running ? 'pending' : 'done',
    ...(hook.problem === undefined ? {} : { state_change_problem: hookProblem(hook) }),
  }
}

/** Says why the state change hook fails. The component's own message may contain secrets, and is in the log alone. */
function hookProblem({ problem, attempts, dead, notBefore }: HookState) {
  return {
    why: problem,
    attempts,
    again: dead ? null : new Date(notBefore).toISOString(),
    detail: 'the log of this engine has the reason, in lines of this contract with the hook state-change',
  }
}
