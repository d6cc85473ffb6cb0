/** Makes the message with which a worker gets a call: the name of the hook, and the input in the RPC format. */
import { addressBytes } from '../offchain/address.ts'
import { hook as hooks } from '../offchain/hosted.ts'
import { writeRequest } from '../offchain/http-data.ts'
import { writer } from '../offchain/rpc.ts'
import type { CallMessage } from './messages.ts'
import type { ComponentCall, Hook } from './runtime.ts'

export function callMessage(call: ComponentCall): CallMessage {
  const { contract, engine, chain, block, hook, state, now } = call
  const input = writer().raw(addressBytes(contract)).raw(addressBytes(engine)).raw(state)
  if (hook.kind === 'http') writeRequest(hook.request, input)
  if (hook.kind === 'timer') input.raw(hook.payload)
  return {
    hook: hookName(hook),
    input: input.done(),
    stateLength: state.length,
    contract,
    engine,
    chain: { id: chain.id, addresses: chain.addresses },
    block: { number: block.number, time: block.time.getTime() },
    now: now.getTime(),
    storageVersion: call.storageVersion,
    expects: hook.kind === 'http' ? 'response' : hook.kind === 'engines' ? 'engines' : 'nothing',
  }
}

function hookName(hook: Hook): string {
  switch (hook.kind) {
    case 'http':
      return hooks.httpRequest
    case 'state-change':
      return hooks.stateChange
    case 'engines':
      return hooks.engines
    case 'timer':
      return `${hooks.timer}${(hook.id >>> 0).toString(16)}`
  }
}
