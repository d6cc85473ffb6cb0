/**
 * Watches the keys in PKCS #11 tokens while a service runs. A service whose token is away stays ready, since all its
 * processes may share the token, and what needs no signature goes on.
 */
import type { Logger } from 'pino'
import type { Task } from '../../async/task.ts'
import { listKeys, type ServiceKeys } from '../../keys/key-ring.ts'
import { findSigningProblem } from '../../keys/pkcs11/check.ts'
import type { Pkcs11Tokens } from '../../keys/pkcs11/signer.ts'

const MINUTE_MS = 60_000
/** How often a key that stays lost is logged. */
const REPEAT_MS = 60 * MINUTE_MS

interface WatchParts {
  readonly keys: ServiceKeys
  readonly tokens: Pkcs11Tokens
  readonly log: Logger
  readonly now: () => Date
}

export interface Pkcs11KeyWatch {
  /** The task that tries each key in a token once a minute; none if there is no such key. */
  readonly tasks: readonly Task[]
  /** Returns whether each key in a token signed when it was tried last, by the path of its setting. */
  readonly getStates: () => ReadonlyMap<string, boolean>
}

/** Creates the watch. The caller has tried the keys, at the start. */
export function watchPkcs11Keys({ keys, tokens, log, now }: WatchParts): Pkcs11KeyWatch {
  const keysInTokens = listKeys(keys).filter(([, key]) => 'pkcs11Key' in key)
  const states = new Map(keysInTokens.map(([path]) => [path, true]))
  const toldAt = new Map<string, number>()
  const record = (key: string, problem: string | undefined): void => {
    const [at, lastAt] = [now().getTime(), toldAt.get(key)]
    states.set(key, problem === undefined)
    if (problem === undefined) {
      if (toldAt.delete(key)) log.info({ event: 'token_key_back', key }, 'a key in a token signs again')
    } else if (lastAt === undefined || at - lastAt >= REPEAT_MS) {
      toldAt.set(key, at)
      log.error({ event: 'token_key_lost', key, problem }, 'a key in a token does not sign, and what needs it fails')
    }
  }
  const run = async (): Promise<void> => {
    const problems = await Promise.all(keysInTokens.map(([, key]) => findSigningProblem(key, tokens)))
    for (const [index, [path]] of keysInTokens.entries()) record(path, problems[index])
  }
  return {
    tasks: keysInTokens.length === 0 ? [] : [{ name: 'token keys', everyMs: MINUTE_MS, run }],
    getStates: () => states,
  }
}
