/**
 * The program of the threads in which components run; `build/bundle.js` bundles it into a file of its own. A thread
 * runs one job at a time, and blocks while the component waits for an answer of the engine.
 */
import { randomBytes } from 'node:crypto'
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { createLru } from '../async/cache.ts'
import { type AuthenticationInput, authenticate } from '../offchain/authentication/authenticate.ts'
import { loadRecovery } from '../offchain/authentication/key-recovery.ts'
import type { Recover } from '../offchain/authentication/recover.ts'
import { isHook, MAX_EXPORTED_HOOKS } from './hooks.ts'
import { createHostOperations, type HostOperations } from './host-operations.ts'
import { loadScript } from './javascript.ts'
import type { LoadedComponent } from './loaded-component.ts'
import type {
  ForgetMessage,
  HostRequest,
  HostRequestMessage,
  HostResponse,
  HostResponseMessage,
  JobMessage,
  Program,
  WorkerData,
  WorkerReport,
} from './messages.ts'
import { BadResult, readHookResult } from './result.ts'
import { cacheStoredValues } from './stored-values.ts'
import { MAX_TRAP_MESSAGE, Trap, trap } from './trap.ts'
import { loadWasmModule } from './wasm.ts'

/** The most bytes of cached values, of all contracts together. */
const STORED_BYTES = 8 * 1024 * 1024

const port = parentPort as MessagePort
const { signal, limits, quickjs } = workerData as WorkerData
/**
 * The most bytes of the scripts that stay loaded: two of the largest, or many small ones. A script that was dropped is
 * evaluated again at its next call.
 */
const SCRIPT_BYTES = Math.max(4 * limits.memoryBytes, 32 * 1024 * 1024)

const programs = new Map<string, Program>()
const components = createLru<string, LoadedComponent>(SCRIPT_BYTES, ({ heldBytes }) => heldBytes)
const storedValues = cacheStoredValues(STORED_BYTES)

/** Sends a host request to the engine, and blocks until the response arrives. Ignores responses to earlier jobs. */
function askEngine(job: number, hostRequest: HostRequest): HostResponse {
  port.postMessage({ job, hostRequest } satisfies HostRequestMessage)
  for (;;) {
    const signalBefore = Atomics.load(signal, 0)
    const reply: { message: HostResponseMessage | ForgetMessage } | undefined = receiveMessageOnPort(port)
    if (reply === undefined) Atomics.wait(signal, 0, signalBefore)
    else if ('forget' in reply.message) forgetComponent(reply.message)
    else if (reply.message.job === job) return unwrapResponse(reply.message.hostResponse)
  }
}

function unwrapResponse(hostResponse: HostResponseMessage['hostResponse']): HostResponse {
  return typeof hostResponse === 'object' && 'failed' in hostResponse ? trap(hostResponse.failed) : hostResponse
}

function forgetComponent({ forget }: ForgetMessage): void {
  programs.delete(forget)
  components.delete(forget)
}

function loadComponent(sha256: string): LoadedComponent {
  const cachedComponent = components.get(sha256)
  if (cachedComponent !== undefined) return cachedComponent
  const program = programs.get(sha256) ?? trap('the worker was not given the component')
  const newComponent =
    program.kind === 'wasm' ? loadWasmModule(program, limits) : loadScript(quickjs, program.source, limits)
  components.set(sha256, newComponent)
  return newComponent
}

/** Returns the hooks of a script. It may have millions of other functions, whose names stay in this thread. */
function listHooks(component: LoadedComponent): readonly string[] {
  const hooks = component.listFunctions().filter(isHook)
  return hooks.length > MAX_EXPORTED_HOOKS ? trap(`it has more than ${MAX_EXPORTED_HOOKS} hooks`) : hooks
}

function runJob({ number, sha256, call }: JobMessage, recover: Recover): WorkerReport {
  let hosted: HostOperations | undefined
  try {
    const component = loadComponent(sha256)
    if (call === undefined) return { report: 'hooks', hooks: listHooks(component) }
    const ask = storedValues.wrapAsk(call, (hostRequest) => askEngine(number, hostRequest))
    const authenticateInput = (input: AuthenticationInput) => authenticate(input, recover)
    hosted = createHostOperations(call, { limits, authenticate: authenticateInput, random: randomBytes, ask })
    const sections = component.run(call, hosted)
    const callTrap = hosted.getTrap()
    if (callTrap !== undefined) throw callTrap
    const result = readHookResult(sections, call.expects, limits)
    return { report: 'done', ...result, effects: hosted.effects.finish() }
  } catch (error) {
    const report = error instanceof BadResult ? 'bad-response' : 'trap'
    const message = messageOf(hosted?.getTrap() ?? error).slice(0, MAX_TRAP_MESSAGE)
    return { report, message, log: hosted?.effects.getLog() ?? [] }
  }
}

function messageOf(error: unknown): string {
  const { message } = error as Error
  if (error instanceof Trap) return message
  // V8 throws this RangeError when the stack overflows, also in WebAssembly.
  if (error instanceof RangeError && message.includes('call stack'))
    return 'the stack is full: it calls itself too deeply'
  return message
}

// The engine sends jobs only after the worker has reported that it is ready.
void loadRecovery().then((recover) => {
  port.on('message', (job: JobMessage | ForgetMessage) => {
    if ('forget' in job) {
      forgetComponent(job)
      return
    }
    if (job.program !== undefined) programs.set(job.sha256, job.program)
    port.postMessage(runJob(job, recover))
    // The script is restored after the report is sent, so that the engine does not wait for it.
    components.get(job.sha256)?.restore()
  })
  port.postMessage({ report: 'ready' } satisfies WorkerReport)
})
