/**
 * The turns of signatures by PKCS #11 tokens, and how long they are waited for. A call that gets no answer cannot be
 * ended: it keeps a thread of Node's pool, which other work of the process needs as well.
 */
import { limitConcurrency } from '../../async/concurrency.ts'
import { Pkcs11Error } from './error.ts'

/** The maximum number of concurrent signatures of all tokens: one less than the threads of Node's pool. */
const MAX_PARALLEL_SIGNATURES = 3
/** The maximum number of threads that a token without an answer keeps, so that another token has one. */
const MAX_LATE_OF_TOKEN = MAX_PARALLEL_SIGNATURES - 1
/** How long a token may take for a signature. */
const ANSWER_SECONDS = 5
/** How long a signature waits for its turn. */
const TURN_MS = 30_000
/** How long a token that gave no answer is not asked again. */
const PAUSE_MS = 10_000

const SILENT = `the token gives no answer for ${ANSWER_SECONDS} seconds; look at its own log`
const SLOW = 'the token signs too slowly for all that ask; use a faster one, or fewer requests at once'

/**
 * Runs a signature of a token in its turn. Rejects with a Pkcs11Error while the token gives no answer, also what waits
 * then, and after too long a wait. `isWanted` tests whether the result is still waited for.
 */
export type Turns = (sign: (isWanted: () => boolean) => Promise<Buffer>) => Promise<Buffer>

interface Threads {
  readonly runInTurn: ReturnType<typeof limitConcurrency>
  /** The signatures that wait for their turn. */
  readonly waiting: Set<{ readonly token: TokenState; readonly refuse: (text: string) => void }>
  /** The number of signatures that are not waited for any more, and keep their thread. */
  lateCount: number
}

interface TokenState {
  pauseEndsAt: number
  /** The number of its signatures that are not waited for any more. */
  lateCount: number
}

/** Creates the function that creates the turns of a token. All tokens share the threads. */
export function createThreads(): () => Turns {
  const threads: Threads = {
    runInTurn: limitConcurrency(MAX_PARALLEL_SIGNATURES),
    waiting: new Set(),
    lateCount: 0,
  }
  return () => {
    const token: TokenState = { pauseEndsAt: -Infinity, lateCount: 0 }
    return (sign) => takeTurn(threads, token, sign)
  }
}

function takeTurn(threads: Threads, token: TokenState, sign: Parameters<Turns>[0]): Promise<Buffer> {
  if (isSilent(threads, token)) return Promise.reject(new Pkcs11Error(SILENT))
  return new Promise((resolve, reject) => {
    let isWanted = true
    const refuse = (text: string): void => {
      isWanted = false
      endWait()
      reject(new Pkcs11Error(text))
    }
    const timer = setTimeout(refuse, TURN_MS, SLOW)
    const waitingSignature = { token, refuse }
    const endWait = (): void => {
      clearTimeout(timer)
      threads.waiting.delete(waitingSignature)
    }
    threads.waiting.add(waitingSignature)
    void threads.runInTurn(async () => {
      if (!isWanted) return
      endWait()
      const endAnswer = startAnswer(threads, token, () => refuse(SILENT))
      await sign(() => isWanted)
        .then(resolve, reject)
        .finally(endAnswer)
    })
  })
}

/** Starts the time that the token has for an answer. Returns the function that must be called with the answer. */
function startAnswer(threads: Threads, token: TokenState, onSilence: () => void): () => void {
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    threads.lateCount += 1
    token.lateCount += 1
    token.pauseEndsAt = performance.now() + PAUSE_MS
    onSilence()
    for (const each of threads.waiting) if (isSilent(threads, each.token)) each.refuse(SILENT)
  }, ANSWER_SECONDS * 1000)
  return () => {
    clearTimeout(timer)
    if (!isLate) return
    threads.lateCount -= 1
    token.lateCount -= 1
    token.pauseEndsAt = -Infinity
  }
}

/** Tests whether a token gave no answer just now or repeatedly, or no thread is left to ask it in. */
function isSilent(threads: Threads, { lateCount, pauseEndsAt }: TokenState): boolean {
  const hasNoThread = lateCount >= MAX_LATE_OF_TOKEN || threads.lateCount === MAX_PARALLEL_SIGNATURES
  return hasNoThread || performance.now() < pauseEndsAt
}
