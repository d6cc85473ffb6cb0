/** Processes of the issuance service on one database, without a socket, each of which finds what another did. */
import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { OutboundError } from '../../src/http/outbound.ts'
import { type IssuerCollections, issuerMigrations } from '../../src/issuer/collections.ts'
import { readIssuerConfig } from '../../src/issuer/config.ts'
import { createIssuer } from '../../src/issuer/issuer.ts'
import { fetchFrom, filesOf, ISSUER_URL, type Services, settings, startServices } from './services.ts'
import { retryOnConflict, testDatabase } from './store.ts'

export interface Processes {
  readonly first: Services
  readonly second: Services
  close(): Promise<void>
}

/** Starts two processes, with one key, one clock and one configuration. */
export async function startProcesses(): Promise<Processes> {
  const services = await startServices()
  const open = testDatabase<IssuerCollections>(issuerMigrations)
  const read = readIssuerConfig(settings('issuer', ISSUER_URL), filesOf(services.files), services.clock.now)
  if ('mistakes' in read) throw new Error(read.mistakes.join())
  const closing: (() => Promise<void>)[] = []
  const start = async (): Promise<Services> => {
    const store = await open()
    const effects = {
      store,
      retryOnConflict,
      outbound: () => Promise.reject(new OutboundError('no other server is there')),
      now: () => services.clock.now,
      random: randomBytes,
      log: pino({ level: 'silent' }),
    }
    const app = await createIssuer(read.config, effects)
    closing.push(async () => {
      await app.close()
      await store.close()
    })
    return { ...services, issuer: app, issuerStore: store, fetch: fetchFrom(new Map([[ISSUER_URL, app]])) }
  }
  const [first, second] = [await start(), await start()]
  return {
    first,
    second,
    close: async () => {
      for (const close of closing) await close()
      await services.close()
    },
  }
}
