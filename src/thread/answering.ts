/** The other side of `asking.ts`: what a thread does that is asked questions. */
import { type MessagePort, parentPort } from 'node:worker_threads'
import type { Answer, Question } from './asking.ts'

/** Has `answer` called with each question, without waiting for those before it. */
export function answerQuestions(answer: (question: never) => Promise<unknown>): void {
  const port = parentPort as MessagePort
  port.on('message', ({ id, question }: Question) => {
    answer(question as never).then(
      (result) => port.postMessage({ id, result } satisfies Answer),
      (thrown: unknown) => {
        const { name, message, ...more } = thrown as Error
        port.postMessage({ id, error: { ...more, name, message } } satisfies Answer)
      },
    )
  })
}
