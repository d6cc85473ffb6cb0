/** The line of the log that counts conflicts in the database: work that was done anew, and work that was given up. */
import type { Logger } from 'pino'
import type { Task } from '../store/upkeep.ts'
import { conflictCounts } from './effects.ts'

/** A task that logs the counts since the process began, once a minute, where they have changed. */
export function conflictTask(log: Logger): Task {
  let logged = { ...conflictCounts }
  return {
    name: 'conflicts',
    everyMs: 60_000,
    atStop: true,
    run: () => {
      const { retried, givenUp } = conflictCounts
      if (retried !== logged.retried || givenUp !== logged.givenUp) {
        log.info({ event: 'store_conflicts', retried, givenUp }, 'work that was done anew after a conflict')
      }
      logged = { retried, givenUp }
      return Promise.resolve()
    },
  }
}
