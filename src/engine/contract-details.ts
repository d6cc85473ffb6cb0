/** `GET /engine/contracts/{contract}`: the details of a contract, which only the operator may see. */
import { readOrUndefined } from '../codec/malformed.ts'
import { parseAddress } from '../offchain/address.ts'
import type { CallHistory, ShownCall } from './call-history.ts'
import { dayOf } from './commit.ts'
import type { EngineContext } from './context.ts'
import { makeProblem, ProblemError } from './problem.ts'
import { describeContract, formatAddress } from './status.ts'

const BAD_ADDRESS =
  'what stands after /engine/contracts/ must be the address of a contract: 20 or 21 bytes in hexadecimal'

/** Returns the details of a contract. Throws a ProblemError with `bad-address` or `unknown-contract`. */
export async function readContractDetails(context: EngineContext, text: string) {
  const { chain, watcher, contractRows, outbox, timers, calls, now } = context
  const address = readOrUndefined(() => parseAddress(text))
  if (address === undefined) throw new ProblemError(makeProblem('bad-address', { detail: BAD_ADDRESS }))
  const entry = watcher.findEntry(address)
  if (entry === undefined) throw new ProblemError(makeProblem('unknown-contract'))
  const { contract, queue } = entry
  const { storageBytes, dailyTransactions } = await contractRows.get(address)
  const today = dayOf(now())
  return {
    ...describeContract(context, entry),
    component_uri: contract.component?.uri ?? null,
    engines:
      contract.engines?.map(({ address, endpoint }) => ({ address: formatAddress(chain, address), endpoint })) ?? null,
    storage_bytes: storageBytes,
    transactions: {
      waiting: outbox.countUse(address).transactions,
      today: dailyTransactions?.day === today ? dailyTransactions.transactions : 0,
    },
    timers: timers.list(address).filter(({ status }) => status === 'scheduled' || status === 'running'),
    waiting_calls: queue.countWaiting(),
    calls: latestCalls(calls, address),
  }
}

function latestCalls(calls: CallHistory, address: string) {
  return calls.list(address).map(({ began, ...call }: ShownCall) => ({ at: began.toISOString(), ...call }))
}
