/** Passes a question that a component asks during its call to the engine. */
import type { HostAnswer, HostQuestion } from './messages.ts'
import type { Host } from './runtime.ts'

export async function askHost(host: Host, question: HostQuestion): Promise<HostAnswer> {
  switch (question.ask) {
    case 'load':
      return host.load(question.bucket, question.key)
    case 'contract':
      return host.readContract(question.input)
    case 'send':
      return host.send(question.request)
    case 'configuration':
      return host.getConfiguration(question.key)
    case 'timers':
      return host.listTimers()
    case 'generation':
      return host.getGeneration()
    case 'spent':
      return host.isSpent(question.id)
  }
}
