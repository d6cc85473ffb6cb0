/** The refused requests of wallets as members of a session status, and their schemas. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { epochSeconds } from '../codec/time.ts'
import { Seconds } from '../http/openapi-responses.ts'
import type { SessionProgress, WalletRefusal } from './session-progress.ts'

/** Makes the schemas of `problem` and `earlier_problems` in a status. `endpoints` are examples of wallet endpoints. */
export function makeProblemSchemas(endpoints: string) {
  const members = {
    endpoint: Type.String({ description: `Such as ${endpoints}` }),
    error: Type.String(),
    error_description: Type.String(),
    count: Type.Integer({
      description:
        'How many refusals up to this one had its endpoint and its error, with no other refusal between them',
    }),
    at: Seconds,
  }
  return {
    problem: Type.Optional(Type.Object(members, { description: 'The last refusal of a wallet' })),
    earlier_problems: Type.Optional(
      Type.Array(Type.Object(members), {
        description: 'The refusals before it that had another endpoint or error, oldest first; the newest nine at most',
      }),
    ),
  }
}

/** Returns the members `problem` and `earlier_problems` of a status; those without a value are absent. */
export function problemMembers({ problem, earlier }: SessionProgress) {
  return {
    ...(problem && { problem: problemBody(problem) }),
    ...(earlier && { earlier_problems: earlier.map(problemBody) }),
  }
}

function problemBody({ endpoint, error, description, count, at }: WalletRefusal) {
  return { endpoint, error, error_description: description, count, at: epochSeconds(at) }
}

/** The schema of `problem` in a list of sessions. */
export const ListedProblem = Type.Object(
  { endpoint: Type.String(), error: Type.String(), at: Seconds },
  { description: 'The last refusal of a wallet; the status of the session says more' },
)

/**
 * Returns the last refusal for a list of sessions; undefined if there is none. Leaves out the description, which may
 * repeat what the wallet sent; the session status has it.
 */
export function listedProblem({ problem }: SessionProgress): Static<typeof ListedProblem> | undefined {
  return problem && { endpoint: problem.endpoint, error: problem.error, at: epochSeconds(problem.at) }
}

/** Returns the endpoint and the error of the last refusal for the overview, if there is one. */
export function problemWords({ problem }: SessionProgress): readonly string[] {
  return problem === undefined ? [] : [`${problem.endpoint}: ${problem.error}`]
}
