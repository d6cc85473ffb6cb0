/**
 * Keys of their own for what a service signs beside credentials, and for sessions of a verifier that began with another
 * key.
 */
import { createPublicKey, randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { indexCheckpointKeys, readCheckpoint } from '../../src/audit/checkpoint.ts'
import { createStatusLists } from '../../src/check/status/status-list-loader.ts'
import { readIssuerConfig } from '../../src/issuer/config.ts'
import { readPemCertificates } from '../../src/keys/certificate.ts'
import { MAX_KEYS } from '../../src/keys/key-ring.ts'
import { makeSelfSignedCertificate, toPem } from '../../src/keys/make-certificate.ts'
import { readVerifierConfig } from '../../src/verifier/config.ts'
import { createVerifier } from '../../src/verifier/verifier.ts'
import { restartedIssuer } from '../support/restarted-issuer.ts'
import {
  fetchFrom,
  filesOf,
  ISSUER_URL,
  makeKey,
  outboundBy,
  pemOf,
  type Services,
  settings,
  startServices,
  VERIFIER_URL,
} from '../support/services.ts'
import { issueWithStatus } from '../support/status.ts'
import { retryOnConflict } from '../support/store.ts'
import { redeem, startIssuance, startVerification } from '../support/wire.ts'

const DAY = 86_400_000
const named = (name: string) => ({ keyFile: `${name}.key`, certificateFiles: [`${name}.pem`] })
/** The keys of a verifier between its first and its latest, the newest first: as many as the settings take. */
const BETWEEN = Array.from({ length: MAX_KEYS - 2 }, (_, index) => `between-${index}`)
const KEYS = {
  statusLists: named('lists'),
  accessTokens: named('tokens'),
  metadata: named('access'),
  audit: named('audit'),
}

async function filesFor(name: string, uri = ISSUER_URL): Promise<Record<string, string>> {
  const key = await makeKey()
  const certificate = makeSelfSignedCertificate({
    privateKey: key,
    publicKey: createPublicKey(key),
    commonName: name,
    uris: [uri],
    notBefore: new Date(Date.now() - 100 * DAY),
    notAfter: new Date(Date.now() + 100 * DAY),
    serial: randomBytes(16),
  })
  return { [`${name}.key`]: pemOf(key), [`${name}.pem`]: toPem(certificate) }
}

function headerOf(jws: string): { readonly kid?: string; readonly x5c?: readonly string[] } {
  return JSON.parse(Buffer.from(jws.split('.')[0] ?? '', 'base64url').toString()) as { kid: string; x5c: string[] }
}

describe('keys of their own', () => {
  let services: Services
  let files: Record<string, string>
  beforeAll(async () => {
    files = Object.assign(
      {},
      ...(await Promise.all([
        ...['lists', 'tokens', 'access', 'audit'].map((name) => filesFor(name)),
        ...['next', ...BETWEEN].map((name) => filesFor(name, VERIFIER_URL)),
      ])),
    ) as Record<string, string>
    services = await startServices({ issuer: { keys: KEYS }, verifier: { keys: { audit: named('audit') } }, files })
  })
  afterAll(() => services.close())

  /** The base64 of the certificate that stands in `x5c`. */
  const x5cOf = (name: string): string =>
    (files[`${name}.pem`] ?? services.files.get(`${name}.pem`) ?? '').replace(/-----.*-----|\n/g, '')

  it('sign status lists, access tokens and metadata, and nothing else', async () => {
    const { credential, status } = await issueWithStatus(services)
    expect(headerOf(credential).x5c).toEqual([x5cOf('issuer')])
    expect(headerOf(await (await services.fetch(status.uri)).text()).x5c).toEqual([x5cOf('lists')])

    const signed = await services.fetch(`${ISSUER_URL}/.well-known/openid-credential-issuer`, {
      headers: { accept: 'application/jwt' },
    })
    expect(headerOf(await signed.text()).x5c).toEqual([x5cOf('access')])
    const { sessionId } = await startIssuance(services)
    const { kid } = headerOf(await redeem(services, sessionId))
    const keys = await (await services.fetch(`${ISSUER_URL}/auth/.well-known/jwks`)).json()
    expect(keys).toEqual({ keys: [expect.objectContaining({ kid })] })
  })

  it('sign the checkpoints of the audit log of either service', async () => {
    await issueWithStatus(services)
    await startVerification(services)
    services.clock.now = new Date(services.clock.now.getTime() + 120_000)
    await services.runTasks()
    const checkpoints = [
      await services.issuerStore.list('audit_checkpoint'),
      await services.verifierStore.list('audit_checkpoint'),
    ]
    for (const [checkpoint] of checkpoints) {
      const keysOf = (name: string) =>
        indexCheckpointKeys(
          readPemCertificates(files[`${name}.pem`] ?? services.files.get(`${name}.pem`) ?? '').map(
            ({ publicKey }) => publicKey,
          ),
        )
      expect(readCheckpoint(checkpoint?.value.checkpoint ?? '', keysOf('audit')).sequence).toBeGreaterThan(0)
      expect(() => readCheckpoint(checkpoint?.value.checkpoint ?? '', keysOf('issuer'))).toThrow(/another key/)
    }
  })

  it('leave a status list with the key that it was begun with', async () => {
    const before = await restartedIssuer(services, {})
    const { status } = await issueWithStatus(before)
    const listOf = async (at: Services) => headerOf(await (await at.fetch(status.uri)).text()).x5c
    expect([await listOf(before), await listOf(services)]).toEqual([[x5cOf('issuer')], [x5cOf('issuer')]])
    await before.issuer.close()
  })

  it('are read with all their mistakes, and a warning where verifiers would refuse the lists', async () => {
    const read = (keys: object, texts: Record<string, string> = {}) =>
      readIssuerConfig(
        settings('issuer', ISSUER_URL, { keys }),
        filesOf(new Map([...services.files, ...Object.entries(texts)])),
        new Date(),
      )
    expect(read({ statusLists: { ...named('lists'), previous: [named('nowhere')] }, audit: named('none') })).toEqual({
      mistakes: [
        'keys.statusLists.previous[0].keyFile: there is no such file: nowhere.key',
        'keys.statusLists.previous[0].certificateFiles[0]: there is no such file: nowhere.pem',
        'keys.audit.keyFile: there is no such file: none.key',
        'keys.audit.certificateFiles[0]: there is no such file: none.pem',
      ],
    })
    const other = await filesFor('other', 'https://other.example')
    const result = read({ statusLists: named('other') }, other)
    expect('warnings' in result ? result.warnings : result.mistakes).toContainEqual(
      expect.stringMatching(/^keys\.statusLists: verifiers refuse lists by CN=other; get a certificate with/),
    )
    expect('warnings' in read(KEYS) && read(KEYS)).not.toMatchObject({
      warnings: expect.arrayContaining([expect.stringMatching(/verifiers refuse lists/)]) as string[],
    })
  })

  it('of a verifier: a session that began with the oldest certificate in the settings goes on with it', async () => {
    const { sessionId, request } = await startVerification(services)
    const signing = { ...named('next'), previous: [...BETWEEN, 'verifier'].map(named) }
    const restarted = async (changes: object) => {
      const texts = filesOf(services.files)
      const read = readVerifierConfig(
        settings('verifier', VERIFIER_URL, changes as Record<string, unknown>),
        texts,
        new Date(),
      )
      if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
      const { verifierStore: store, clock } = services
      const outbound = outboundBy(services.fetch)
      const log = pino({ level: 'silent' })
      const effects = { retryOnConflict, now: () => clock.now, random: randomBytes, log, outbound }
      const statusLists = createStatusLists(effects, true)
      const verifier = await createVerifier(read.config, { ...effects, store, statusLists })
      return { ...services, verifier, fetch: fetchFrom(new Map([[VERIFIER_URL, verifier]])) }
    }
    const url = `${VERIFIER_URL}/presentation/oid4vp/authorization-request/${sessionId}`
    const [kept, lost] = [await restarted({ signing }), await restarted({ signing: named('next') })]
    const again = await kept.fetch(url)
    expect(again.status).toBe(200)
    expect(headerOf(await again.text()).x5c).toEqual([x5cOf('verifier')])
    expect((await lost.fetch(url)).status).toBe(410)
    const next = await startVerification(kept)
    expect(next.request.client_id).not.toBe(request.client_id)
    for (const { verifier } of [kept, lost]) await verifier.close()
  })
})
