/** An issuer that was restarted on its database with other files or settings, in this process. */
import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { readIssuerConfig } from '../../src/issuer/config.ts'
import { createIssuer } from '../../src/issuer/issuer.ts'
import { fetchFrom, filesOf, ISSUER_URL, outboundBy, type Services, settings } from './services.ts'
import { retryOnConflict } from './store.ts'

export interface Changes {
  /** Texts of files, over those of the services. */
  readonly files?: Readonly<Record<string, string>>
  /** Settings of the issuer, over the right ones. */
  readonly issuer?: Record<string, unknown>
}

/**
 * Returns the services with another issuer in the place of theirs, which the caller closes. Throws with the mistakes of
 * the settings.
 */
export async function restartedIssuer(services: Services, { files = {}, issuer = {} }: Changes): Promise<Services> {
  const { issuerStore: store, clock } = services
  const texts = new Map([...services.files, ...Object.entries(files)])
  const read = readIssuerConfig(settings('issuer', ISSUER_URL, issuer), filesOf(texts), clock.now)
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  const log = pino({ level: 'silent' })
  const outbound = outboundBy(services.fetch)
  const effects = { retryOnConflict, outbound, now: () => clock.now, random: randomBytes, log }
  const app = await createIssuer(read.config, { ...effects, store })
  return { ...services, issuer: app, files: texts, fetch: fetchFrom(new Map([[ISSUER_URL, app]])) }
}
