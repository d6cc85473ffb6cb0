/**
 * The thread in which components run; bundled into a file of its own (`build/bundle.js`). One job at a time, from
 * beginning to end: a component that asks its engine has this thread sleep until the answer is there.
 */
import { randomBytes } from 'node:crypto'
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { type AuthenticationInput, authenticate } from '../offchain/authentication/authenticate.ts'
import { loadRecovery } from '../offchain/authentication/key-recovery.ts'
import type { Recover } from '../offchain/authentication/recover.ts'
import { type Hosted, hostedCall } from './hosted.ts'
import { loadScript, type Script } from './javascript.ts'
import type {
  AnswerMessage,
  HostAnswer,
  HostQuestion,
  Job,
  Program,
  QuestionMessage,
  WorkerData,
  WorkerReport,
} from './messages.ts'
import { BadResult, readHookResult } from './result.ts'
import { cacheStoredValues } from './stored-values.ts'
import { Trap, trap } from './trap.ts'
import { type LoadedModule, loadWasmModule } from './wasm.ts'

/** The most bytes of the cached values of all contracts together. */
const STORED_BYTES = 8 * 1024 * 1024

/** A component that has run here, or is about to. */
type Loaded = LoadedModule | Script

const port = parentPort as MessagePort
const { signal, limits, quickjs } = workerData as WorkerData
const programs = new Map<string, Program>()
const components = new Map<string, Loaded>()
const stored = cacheStoredValues(STORED_BYTES)

/** Asks the engine, and drops its answers to other jobs. */
function answerTo(job: number, question: HostQuestion): HostAnswer {
  port.postMessage({ job, question } satisfies QuestionMessage)
  for (;;) {
    const seen = Atomics.load(signal, 0)
    const received = receiveMessageOnPort(port) as { message: AnswerMessage } | undefined
    if (received === undefined) Atomics.wait(signal, 0, seen)
    else if (received.message.job === job) return unlessFailed(received.message.answer)
  }
}

function unlessFailed(answer: HostAnswer): HostAnswer {
  return typeof answer === 'object' && 'failed' in answer ? trap(answer.failed) : answer
}

function loadComponent(component: string): Loaded {
  const cached = components.get(component)
  if (cached !== undefined) return cached
  const program = programs.get(component) ?? trap('the worker was not given the component')
  const fresh = program.kind === 'wasm' ? loadWasmModule(program, limits) : loadScript(quickjs, program.source, limits)
  components.set(component, fresh)
  return fresh
}

function reportOn({ number, component, call }: Job, recover: Recover): WorkerReport {
  let hosted: Hosted | undefined
  try {
    const program = loadComponent(component)
    if (call === undefined) return { report: 'hooks', hooks: 'hooks' in program ? program.hooks() : [] }
    const ask = stored.remembering(call, (question) => answerTo(number, question))
    const authenticating = (input: AuthenticationInput) => authenticate(input, recover)
    hosted = hostedCall(call, { limits, authenticate: authenticating, random: randomBytes, ask })
    const sections = program.run(call, hosted)
    const ended = hosted.ended()
    if (ended !== undefined) throw ended
    const result = readHookResult(sections, call.expects, limits)
    return { report: 'done', ...result, effects: hosted.effects.done() }
  } catch (error) {
    const report = error instanceof BadResult ? 'bad-response' : 'trap'
    const message = sentence(hosted?.ended() ?? error).slice(0, LONGEST_SENTENCE)
    return { report, message, log: hosted?.effects.logged() ?? [] }
  }
}

/**
 * The most characters of a message. What a script throws may be as long as its memory, and goes to the operator's log.
 */
const LONGEST_SENTENCE = 4096

function sentence(error: unknown): string {
  const { message } = error as Error
  if (error instanceof Trap) return message
  // V8's words, for both the stack of the thread and that of WebAssembly.
  if (error instanceof RangeError && message.includes('call stack'))
    return 'the stack is full: it calls itself too deeply'
  return message
}

// Jobs come to a worker that has said that it is ready.
void loadRecovery().then((recover) => {
  port.on('message', (job: Job) => {
    if (job.forget !== undefined) {
      programs.delete(job.forget)
      components.delete(job.forget)
    }
    if (job.program !== undefined) programs.set(job.component, job.program)
    port.postMessage(reportOn(job, recover))
    // After the answer: the engine does not wait for it.
    const loaded = components.get(job.component)
    if (loaded !== undefined && 'putBack' in loaded) loaded.putBack()
  })
  port.postMessage({ report: 'ready' } satisfies WorkerReport)
})
