import { generateKeyPair } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Ajv } from 'ajv'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { commonSettings, type ReadResult } from '../../config/common.ts'
import type { Files } from '../../config/files.ts'
import { loadDriver } from '../../store/sqlite.ts'
import type { VerifierCollections } from '../../verifier/collections.ts'
import { openDatabase } from '../effects.ts'
import { makeFiles } from '../init/files.ts'
import { credentialServiceKind } from './credential-service-kind.ts'
import {
  type ConfigOf,
  type CredentialServiceName,
  credentialServiceNames,
  credentialServices,
} from './credential-services.ts'
import { buildService } from './run-service.ts'
import type { ServiceKind } from './service-kind.ts'

const log = pino({ level: 'silent' })

/** Returns the configuration that `vouchsafe init` would write. */
async function configOf<Name extends CredentialServiceName>(service: Name): Promise<ConfigOf<Name>> {
  const made = await makeFiles({ service, baseUrl: 'http://127.0.0.1:1', port: 1, displayName: 'Example' })
  const texts = new Map(made.files.map(({ path, text }) => [path, text]))
  // A directory of trust anchors has a certificate in it before a verifier starts.
  const [certificate = ''] = made.files.flatMap(({ path, text }) => (path.endsWith('.pem') ? [text] : []))
  const files: Files = {
    read: (path) => texts.get(path) ?? certificate,
    list: () => ['anchor.pem'],
    resolveLink: (path) => path,
  }
  const settings: unknown = JSON.parse(files.read('conf/server.json'))
  const result: ReadResult<ConfigOf<Name>> = credentialServices[service].readConfig(settings, files, new Date())
  if ('mistakes' in result) throw new Error(result.mistakes.join())
  return result.config
}

const memory = { kind: 'sqlite', file: ':memory:' } as const

describe('the table of services', () => {
  it.each(credentialServiceNames)('has what the %s says of itself', async (name) => {
    const kind: ServiceKind = credentialServiceKind(name)
    const store = await openDatabase(memory, credentialServices[name].migrations)
    const service = await buildService(kind, await configOf(name), store, { log })
    const { info } = (await service.app.inject('/openapi')).json<{ info: { title: string } }>()
    expect(info.title).toBe(credentialServices[name].title)
    await service.close()
  })

  it('has settings of which each service shares some and keeps some', () => {
    for (const name of credentialServiceNames) {
      const names = Object.keys(credentialServices[name].settings.properties)
      expect(names).toEqual(expect.arrayContaining(Object.keys(commonSettings)))
      expect(names.length).toBeGreaterThan(Object.keys(commonSettings).length)
    }
  })

  it('has settings that are JSON Schema, at which nobody looks again when a service starts', () => {
    for (const name of credentialServiceNames)
      expect(new Ajv().validateSchema(credentialServices[name].settings)).toBe(true)
  })
})

describe('the database of a service', () => {
  it('says of keys that cannot be read where the database is, and nothing of another key', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-credential-store-'))
    const file = join(directory, 'verifier.db')
    const config = { ...(await configOf('verifier')), database: { kind: 'sqlite', file } as const }
    const store = await openDatabase<VerifierCollections>(config.database, credentialServices.verifier.migrations)
    await store.commit([{ insert: 'encryption_key', id: 'a-key', value: {} }])
    await store.close()
    const Database = await loadDriver()
    const database = new Database(file)
    database.exec("update encryption_key set value = 'damaged'")
    database.close()
    expect(await credentialServiceKind('verifier').openStore(config, { log })).toEqual({
      mistake: expect.stringMatching(/^database\.url: .*verifier\.db: .*is damaged: it is not JSON/) as string,
      isTemporary: false,
    })
    rmSync(directory, { recursive: true, force: true })
  })
})

describe('a service that cannot be built', () => {
  it('closes its store, and says what it is itself', async () => {
    const store = await openDatabase<VerifierCollections>(memory, credentialServices.verifier.migrations)
    const config = await configOf('verifier')
    const { privateKey: key } = await promisify(generateKeyPair)('ec', { namedCurve: 'secp256k1' })
    const signing = { key, chain: config.keys.signing.chain, previous: [] }
    const unsound = { ...config, keys: { ...config.keys, signing } }
    await expect(buildService(credentialServiceKind('verifier'), unsound, store, { log })).rejects.toThrow(
      /unsupported key type/,
    )
    await expect(store.list('verification_query')).rejects.toThrow(/not open/)
  })
})
