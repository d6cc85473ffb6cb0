/** Puts a component's questions in the middle of its call to the engine. */
import type { HostAnswer, HostQuestion } from './messages.ts'
import type { Host } from './runtime.ts'

export async function answerOf(host: Host, question: HostQuestion): Promise<HostAnswer> {
  switch (question.ask) {
    case 'load':
      return host.load(question.bucket, question.key)
    case 'contract':
      return host.readContract(question.input)
    case 'send':
      return host.send(question.request)
    case 'configuration':
      return host.configuration(question.key)
    case 'timers':
      return host.timers()
    case 'generation':
      return host.generation()
    case 'spent':
      return host.spent(question.id)
  }
}
