/** The TLS of the services themselves: which versions and suites they take. RFC 9325 sections 3.1.1 and 4.2. */
import { createPublicKey, randomBytes } from 'node:crypto'
import { type ConnectionOptions, connect, getCiphers } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { App } from '../../src/http/app-type.ts'
import { makeSelfSignedCertificate, toPem } from '../../src/keys/make-certificate.ts'
import { startEngine } from '../support/engine.ts'
import { makeKey, pemOf, type Services, startServices } from '../support/services.ts'

const TAKEN = ['ecdhe-ecdsa-aes128-gcm-sha256', 'ecdhe-ecdsa-aes256-gcm-sha384']
/** Suites of TLS 1.2 and before that a client of this Node can offer. */
const REFUSED = getCiphers().filter((name) => !name.startsWith('tls_') && !TAKEN.includes(name))

let services: Services
const apps = new Map<string, App>()
beforeAll(async () => {
  const privateKey = await makeKey()
  const certificate = makeSelfSignedCertificate({
    privateKey,
    publicKey: createPublicKey(privateKey),
    commonName: 'a',
    ipAddresses: ['127.0.0.1'],
    serial: randomBytes(16),
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 86_400_000),
  })
  const files = { 'tls.key': pemOf(privateKey), 'tls.pem': toPem(certificate) }
  const tls = { keyFile: 'tls.key', certificateFiles: ['tls.pem'] }
  services = await startServices({ files, issuer: { tls }, verifier: { tls } })
  const { engine } = await startEngine({ settings: { tls }, texts: new Map(Object.entries(files)) })
  apps.set('issuer', services.issuer).set('verifier', services.verifier).set('engine', engine.app)
  for (const app of apps.values()) await app.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(async () => {
  await apps.get('engine')?.close()
  await services.close()
})

/** Returns the version and suite that were agreed upon, or why none were. */
function agreed(service: string, options: ConnectionOptions): Promise<string> {
  const { port } = (apps.get(service) as App).server.address() as { readonly port: number }
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options }, () => {
      resolve(`${socket.getProtocol()} ${socket.getCipher().name}`)
      socket.destroy()
    })
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(`refused: ${code}`))
  })
}

describe.each(['issuer', 'verifier', 'engine'])('the TLS of the %s', (service) => {
  it('is 1.3 for those who have it', async () => {
    expect(await agreed(service, {})).toMatch(/^TLSv1\.3 TLS_AES_/)
  })

  it.each(TAKEN)('is 1.2 with %s for others', async (ciphers) => {
    const name = ciphers.toUpperCase()
    expect(await agreed(service, { ciphers: name, maxVersion: 'TLSv1.2' })).toBe(`TLSv1.2 ${name}`)
  })

  it('is 1.2 with no other suite', async () => {
    expect(REFUSED.length).toBeGreaterThan(30)
    for (const name of REFUSED) {
      const ciphers = `${name.toUpperCase()}:@SECLEVEL=0`
      expect(`${name} ${await agreed(service, { ciphers, maxVersion: 'TLSv1.2' })}`).toMatch(/ refused: /)
    }
  })

  it('is nothing older', async () => {
    const options = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' } as const
    expect(await agreed(service, options)).toMatch(/^refused: /)
  })
})
