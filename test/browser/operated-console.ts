/**
 * A console before services that run in this process, with a clock that the test holds, so that days pass: callbacks
 * die, and certificates come near their end.
 */
import { type ServiceOptions, type Services, startServices } from '../support/services.ts'
import { type OpenConsolePage, startConsoleCommand } from './console-page.ts'

export interface OperatedConsole {
  readonly services: Services
  readonly open: OpenConsolePage
  close(): Promise<void>
}

/** Starts all three; `options` are those of the services. */
export async function operateConsole(options: ServiceOptions = {}): Promise<OperatedConsole> {
  const services = await startServices(options)
  const listen = (name: 'issuer' | 'verifier') => services[name].listen({ port: 0, host: '127.0.0.1' })
  const { child, open } = await startConsoleCommand(await listen('issuer'), await listen('verifier'))
  return {
    services,
    open,
    close: async () => {
      child.kill('SIGKILL')
      await services.close()
    },
  }
}
