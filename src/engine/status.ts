/** `GET /engine`: who this is, what it serves, and the key of its answers. Nothing that is not on the chain or for everybody. */
import { type Address, evmAddress } from '../offchain/address.ts'
import type { EngineContext } from './context.ts'
import { type ContractEntry, contractStateOf, type HookState } from './contract-entry.ts'

export function engineStatus({ chain, engine, watcher, signer }: EngineContext) {
  const block = watcher.block()
  // As people know them: commands and paths take either form.
  const shown = (address: Address): string => (chain.addresses === 'evm' ? evmAddress(address) : address)
  return {
    address: shown(engine),
    chain: { id: chain.id, addresses: chain.addresses },
    block: block === undefined ? null : { number: block.number, hash: block.hash, time: block.time.toISOString() },
    stale: block === undefined || watcher.isStale(),
    response_key: signer.endorsement.public_key,
    endorsement: signer.endorsement,
    contracts: [...watcher.entries()].map((entry) => ({
      address: shown(entry.contract.address),
      ...contractStatus(entry),
    })),
  }
}

function contractStatus(entry: ContractEntry) {
  const { contract, state, hook } = entry
  return {
    state: contractStateOf(entry),
    component: contract.component?.sha256 ?? null,
    hooks: state.kind === 'ready' ? state.hooks : [],
    ...(state.kind === 'failed' ? { why: state.why } : {}),
    state_change: hook.dead ? 'dead' : hook.pending || hook.running ? 'pending' : 'done',
    ...(hook.problem === undefined ? {} : { state_change_problem: hookProblem(hook) }),
  }
}

/** Why the state change hook fails, without a word of the component: its message may tell of secrets, and is in the log alone. */
function hookProblem({ problem, attempts, dead, notBefore }: HookState) {
  return {
    why: problem,
    attempts,
    again: dead ? null : new Date(notBefore).toISOString(),
    detail: 'the log of this engine has the reason, in lines of this contract with the hook state-change',
  }
}
