/** A flow as the load generator runs it: named steps, one after the other, on one connection. */
import type { Answer, Connection, Request } from './connection.ts'

/** Times a step, by name, and gives what was answered. A status other than 200 voids the run. */
export type Step = (name: string, request: Request) => Promise<Answer>

/** Runs one whole flow, which verifies what it gets and throws at the first thing that is not as it must be. */
export type Flow = (step: Step) => Promise<void>

/** Calls `measured` with each answer and how long it took, in milliseconds. */
export function stepOn(
  connection: Connection,
  onMeasure: (name: string, milliseconds: number, answer: Answer) => void,
): Step {
  return async (name, request) => {
    const begin = performance.now()
    const answer = await connection.send(request)
    onMeasure(name, performance.now() - begin, answer)
    if (answer.status !== 200) throw new BadAnswerError(name, `${answer.status} ${answer.body}`)
    return answer
  }
}

/** An answer that voids the run. */
export class BadAnswerError extends Error {
  constructor(step: string, what: string) {
    super(`${step}: ${what}`)
    this.name = 'BadAnswerError'
  }
}

export function must(holds: boolean, step: string, what: string): asserts holds {
  if (!holds) throw new BadAnswerError(step, what)
}
