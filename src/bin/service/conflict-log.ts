/** Logs the numbers of conflicts in the database: retried attempts, and those that were given up. */
import type { Logger } from 'pino'
import type { Task } from '../../async/task.ts'
import { conflictCounts } from '../effects.ts'

/** Creates the task that logs the numbers once a minute if they have changed. */
export function createConflictTask(log: Logger): Task {
  let loggedCounts = { ...conflictCounts }
  return {
    name: 'conflicts',
    everyMs: 60_000,
    atStop: true,
    run: () => {
      const { retried, givenUp } = conflictCounts
      if (retried !== loggedCounts.retried || givenUp !== loggedCounts.givenUp) {
        log.info({ event: 'store_conflicts', retried, givenUp }, 'conflicts in the database since the start')
      }
      loggedCounts = { retried, givenUp }
      return Promise.resolve()
    },
  }
}
