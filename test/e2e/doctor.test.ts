import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { diagnose } from '../../src/bin/doctor/diagnosis.ts'
import type { Finding } from '../../src/bin/doctor/finding.ts'
import { files, openDatabase } from '../../src/bin/effects.ts'
import { certificateFile, keyFile, makeFiles, SECRETS_FILE, writeFiles } from '../../src/bin/init/files.ts'
import { type IssuerCollections, issuerMigrations, type StoredConfiguration } from '../../src/issuer/collections.ts'
import { writeName } from '../../src/keys/certificate-name.ts'
import { readPrivateKey } from '../../src/keys/file-signer.ts'
import { makeCertificate, selfSignedCertificate, toPem, usualExtensions } from '../../src/keys/make-certificate.ts'
import { loadDriver } from '../../src/store/sqlite.ts'
import { createCollection } from '../../src/store/store.ts'
import { filesBelow, temporaryDirectory, vouchsafe } from '../support/command.ts'
import { certificateName, certify as forged } from '../support/forge.ts'

type Service = 'issuer' | 'verifier'
type Settings = Record<string, unknown> & { port: number; baseUrl: string }

const DAY_MS = 86_400_000
const ANCHOR = 'conf/trust-anchors/a.pem'
const inDays = (days: number): Date => new Date(Date.now() + days * DAY_MS)

/** A good configuration in a directory of its own, its paths absolute and its port free, for a test to spoil. */
interface Patient {
  readonly service: Service
  readonly directory: string
  readonly settings: Settings
  readonly key: KeyObject
}

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

async function patient(service: Service): Promise<Patient> {
  const directory = temporaryDirectory()
  const port = await portOf(createServer(), (server) => server.close())
  writeFiles(directory, await makeFiles({ service, baseUrl: `http://127.0.0.1:${port}`, port, displayName: 'Example' }))
  const written = JSON.parse(readFileSync(join(directory, 'conf/server.json'), 'utf8')) as Settings
  if (service === 'verifier') copyFileSync(join(directory, 'conf/verifier.pem'), join(directory, ANCHOR))
  const settings: Settings = {
    ...written,
    ...(service === 'verifier'
      ? { issuerTrustAnchors: join(directory, 'conf/trust-anchors') }
      : { secretsFile: join(directory, SECRETS_FILE) }),
    signing: {
      keyFile: join(directory, keyFile(service)),
      certificateFiles: [join(directory, certificateFile(service))],
    },
    database: { url: `sqlite:${join(directory, `data/${service}.db`)}` },
  }
  return { service, directory, settings, key: readPrivateKey(readFileSync(join(directory, keyFile(service)), 'utf8')) }
}

const examine = ({ service, settings }: Patient): Promise<Finding[]> => diagnose(service, settings, files, new Date())

function databaseKey({ directory }: Patient): string {
  const file = join(directory, 'database.key')
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString('base64'), { mode: 0o600 })
  return file
}

/** Replaces the certificate of the key; `pem` may hold several. */
function certify({ directory, service }: Patient, pem: string): void {
  writeFileSync(join(directory, certificateFile(service)), pem)
}

function selfSigned(key: KeyObject, uri: string, until: Date): string {
  const names = { commonName: 'Example', uris: [uri], serial: randomBytes(16) }
  const times = { notBefore: inDays(-100), notAfter: until }
  return toPem(selfSignedCertificate({ privateKey: key, publicKey: createPublicKey(key), ...names, ...times }))
}

/** Listens on a free port until the test is over, or until `then` says otherwise. */
function portOf(server: Server, then: (server: Server) => void = (open) => void servers.push(open)): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, () => {
      const address = server.address()
      then(server)
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })
}

/** A server that answers every path with this. */
function answering(status: number, body: object): Server {
  return createServer((_, response) => response.writeHead(status).end(JSON.stringify(body)))
}

type Row = readonly [
  what: string,
  service: Service,
  /** Spoils files, or gives the settings that are to be others. */
  spoil: (it: Patient) => unknown,
  subject: string,
  outcome: Finding['outcome'],
  text: RegExp,
]

const rows: readonly Row[] = [
  ['a self-signed certificate', 'issuer', () => undefined, 'signing', 'warning', /self-signed/],
  [
    'HAIP without what asks people',
    'issuer',
    () => ({ profile: 'haip' }),
    'authentication',
    'problem',
    /interactionUrl/,
  ],
  [
    'HAIP without providers of wallets',
    'issuer',
    () => ({ profile: 'haip' }),
    'walletProviderTrustAnchors',
    'problem',
    /name a directory/,
  ],
  ['HAIP with a self-signed certificate', 'issuer', () => ({ profile: 'haip' }), 'signing', 'problem', /of a CA/],
  ['HAIP that is incomplete', 'issuer', () => ({ profile: 'haip' }), 'profile', 'note', /see the problems/],
  ['a setting that is unknown', 'issuer', () => ({ prot: 1 }), 'prot', 'problem', /unknown/],
  [
    'a setting of the other service',
    'verifier',
    () => ({ compatibility: [] }),
    'compatibility',
    'problem',
    /unknown setting/,
  ],
  [
    'a certificate that has expired',
    'issuer',
    (it) => certify(it, selfSigned(it.key, it.settings.baseUrl, inDays(-1))),
    'signing.certificateFiles[0]',
    'problem',
    /expired on/,
  ],
  [
    'a certificate that expires soon',
    'issuer',
    (it) => certify(it, selfSigned(it.key, it.settings.baseUrl, inDays(10.5))),
    'signing',
    'warning',
    /10 days from now: renew it soon/,
  ],
  [
    'a certificate for TLS that expires soon',
    'issuer',
    (it) => {
      certify(it, selfSigned(it.key, it.settings.baseUrl, inDays(29.5)))
      return { tls: it.settings.signing }
    },
    'tls',
    'warning',
    /29 days from now: renew it soon/,
  ],
  [
    'a self-signed certificate for TLS',
    'issuer',
    ({ settings }) => ({ tls: settings.signing }),
    'tls',
    'warning',
    /self-signed; phones and most wallets refuse it/,
  ],
  [
    'an attester that cannot be read',
    'issuer',
    ({ directory }) => {
      mkdirSync(join(directory, 'attesters'))
      writeFileSync(join(directory, 'attesters/a.pem'), 'Dear reader')
      return { keyAttestationTrustAnchors: join(directory, 'attesters') }
    },
    'keyAttestationTrustAnchors',
    'problem',
    /a.pem: it holds no PEM certificate/,
  ],
  [
    'an attester',
    'issuer',
    ({ directory }) => {
      mkdirSync(join(directory, 'attesters'))
      copyFileSync(join(directory, 'conf/issuer.pem'), join(directory, 'attesters/a.pem'))
      return { keyAttestationTrustAnchors: join(directory, 'attesters') }
    },
    'keyAttestationTrustAnchors',
    'ok',
    /CN=Example is valid until/,
  ],
  [
    'a key that does not fit the certificate',
    'verifier',
    async (it) => certify(it, readFileSync(join((await patient('verifier')).directory, 'conf/verifier.pem'), 'utf8')),
    'signing.keyFile',
    'problem',
    /not the one of the first certificate/,
  ],
  [
    'a key that others can read',
    'issuer',
    ({ directory }) => chmodSync(join(directory, 'conf/issuer.key'), 0o644),
    'signing',
    'warning',
    /mode 644\); chmod 600/,
  ],
  [
    'a chain whose second certificate did not sign the first',
    'issuer',
    async (it) =>
      certify(
        it,
        selfSigned(it.key, it.settings.baseUrl, inDays(90)) +
          readFileSync(join((await patient('issuer')).directory, 'conf/issuer.pem'), 'utf8'),
      ),
    'signing.certificateFiles[0]',
    'problem',
    /the certificate 'CN=Example' did not sign 'CN=Example' before it/,
  ],
  [
    'an issuer.id that the certificate is not for',
    'issuer',
    () => ({ issuer: { id: 'https://other.example', display: { name: 'Other' } } }),
    'issuer.id',
    'warning',
    /the issuer is https:\/\/other.example, and the certificate CN=Example is for http:/,
  ],
  [
    'a host that nobody knows',
    'issuer',
    () => ({ baseUrl: 'http://nowhere.invalid' }),
    'baseUrl',
    'problem',
    /the host nowhere.invalid cannot be resolved/,
  ],
  [
    'localhost, which a phone cannot reach',
    'verifier',
    ({ settings }) => ({ baseUrl: `http://localhost:${settings.port}` }),
    'baseUrl',
    'warning',
    /http:\/\/localhost:\d+ means this machine alone/,
  ],
  [
    'a service that does not run yet',
    'verifier',
    () => undefined,
    'baseUrl',
    'note',
    /nothing answers at .*\/health\/live yet/,
  ],
  [
    'something else at the address',
    'issuer',
    async () => ({ baseUrl: `http://127.0.0.1:${await portOf(answering(404, {}))}` }),
    'baseUrl',
    'warning',
    /answers 404: something else is there/,
  ],
  [
    'a port that another program has',
    'issuer',
    async () => ({ port: await portOf(answering(404, {})) }),
    'port',
    'problem',
    /in use by another program/,
  ],
  [
    'a port that the other service has',
    'issuer',
    async () => ({ port: await portOf(answering(200, { info: { title: 'Vouchsafe verification service' } })) }),
    'port',
    'problem',
    /in use by a Vouchsafe verification service/,
  ],
  [
    'a port where the service runs already',
    'issuer',
    async () => ({ port: await portOf(answering(200, { info: { title: 'Vouchsafe issuance service' } })) }),
    'port',
    'warning',
    /in use by a Vouchsafe issuance service; if it is not this one, change port and baseUrl/,
  ],
  [
    'the other service at the address',
    'issuer',
    async () => {
      const port = await portOf(answering(200, { info: { title: 'Vouchsafe verification service' } }))
      return { baseUrl: `http://127.0.0.1:${port}` }
    },
    'baseUrl',
    'problem',
    /is answered by a Vouchsafe verification service, and not by a Vouchsafe issuance service/,
  ],
  [
    'a local address at another port',
    'issuer',
    () => ({ port: 0xfff0, baseUrl: 'http://localhost:8079' }),
    'baseUrl',
    'warning',
    /is port 8079, and the service listens on 65520/,
  ],
  [
    'a host that is no address of this machine',
    'verifier',
    () => ({ host: '203.0.113.77' }),
    'port',
    'problem',
    /203.0.113.77 is no address of this machine/,
  ],
  ['a database that is not there yet', 'issuer', () => undefined, 'database', 'ok', /made at the first start/],
  [
    'a database that is no database',
    'issuer',
    ({ directory }) => {
      mkdirSync(join(directory, 'data'))
      writeFileSync(join(directory, 'data/issuer.db'), 'hello '.repeat(1000))
    },
    'database',
    'problem',
    /file is not a database/,
  ],
  [
    'a database in a place that is a file',
    'issuer',
    ({ directory }) => writeFileSync(join(directory, 'data'), ''),
    'database',
    'problem',
    /cannot be made: .*data is a file/,
  ],
  [
    'a database of the other service',
    'verifier',
    ({ directory }) => makeDatabase(join(directory, 'data/verifier.db'), issuerMigrations),
    'database',
    'problem',
    /of another service or a newer release: it has the schema step issuer-0001/,
  ],
  [
    'a database of something else',
    'issuer',
    async ({ directory }) => {
      mkdirSync(join(directory, 'data'))
      const Database = await loadDriver()
      const database = new Database(join(directory, 'data/issuer.db'))
      database.exec('create table customer (id text)')
      database.close()
    },
    'database',
    'problem',
    /the database of something else/,
  ],
  [
    'a database that is up to date',
    'issuer',
    ({ directory }) => makeDatabase(join(directory, 'data/issuer.db'), issuerMigrations),
    'database',
    'ok',
    /its schema is issuer-\d{4}, the newest/,
  ],
  [
    'a database that others can read',
    'issuer',
    async ({ directory }) => {
      await makeDatabase(join(directory, 'data/issuer.db'), issuerMigrations)
      chmodSync(join(directory, 'data/issuer.db'), 0o640)
    },
    'database',
    'warning',
    /issuer\.db \(mode 640\); chmod 600/,
  ],
  [
    'a file of secrets',
    'issuer',
    () => undefined,
    'secretsFile',
    'ok',
    /^codes, nonces and tokens are derived from the first of 1 line$/,
  ],
  [
    'a file of secrets that others can read',
    'issuer',
    ({ directory }) => chmodSync(join(directory, SECRETS_FILE), 0o644),
    'secretsFile',
    'warning',
    /mode 644\); chmod 600/,
  ],
  [
    'a file of secrets that is broken',
    'issuer',
    ({ directory }) => writeFileSync(join(directory, SECRETS_FILE), '# none\n'),
    'secretsFile',
    'problem',
    /has no key; make one with: openssl rand/,
  ],
  [
    'secrets that are derived from the signing key',
    'issuer',
    () => ({ secretsFile: undefined }),
    'secretsFile',
    'note',
    /derived from the signing key; give them a file of their own/,
  ],
  [
    'a key for the database',
    'issuer',
    (one) => ({ database: { ...(one.settings.database as object), encryptionKeyFile: databaseKey(one) } }),
    'database.encryptionKeyFile',
    'ok',
    /personal data is encrypted with the first of 1 key: [\w-]{12}$/,
  ],
  [
    'a key for the database that others can read',
    'issuer',
    (one) => {
      chmodSync(databaseKey(one), 0o644)
      return { database: { ...(one.settings.database as object), encryptionKeyFile: databaseKey(one) } }
    },
    'database.encryptionKeyFile',
    'warning',
    /mode 644\); chmod 600/,
  ],
  [
    'an encrypted database without its key',
    'issuer',
    async (one) => {
      const file = join(one.directory, 'data/issuer.db')
      await makeDatabase(file, issuerMigrations)
      const Database = await loadDriver()
      const database = new Database(file)
      database.exec("insert into encryption_key values ('abc', '{}', 0, null)")
      database.close()
    },
    'database.encryptionKeyFile',
    'problem',
    /the database is encrypted; name the file with its key abc/,
  ],
  [
    'a database in memory',
    'issuer',
    () => ({ database: { url: 'sqlite::memory:' } }),
    'database',
    'warning',
    /in memory/,
  ],
  [
    'no trust anchors',
    'verifier',
    () => ({ issuerTrustAnchors: undefined }),
    'issuerTrustAnchors',
    'warning',
    /not configured, so that any certificate will do/,
  ],
  [
    'a directory without trust anchors',
    'verifier',
    ({ directory }) => rmSync(join(directory, ANCHOR)),
    'issuerTrustAnchors',
    'problem',
    /there is no certificate in/,
  ],
  [
    'a trust anchor',
    'verifier',
    () => undefined,
    'issuerTrustAnchors',
    'ok',
    /CN=Example is valid until \d{4}-\d\d-\d\d, 36\d days from now/,
  ],
  [
    'a trust anchor that may sign nothing',
    'verifier',
    ({ directory, key }) =>
      writeFileSync(
        join(directory, ANCHOR),
        toPem(forged({ name: certificateName, key }, key, { usages: ['keyAgreement'] })),
      ),
    'issuerTrustAnchors',
    'warning',
    /does not allow digitalSignature, and it is no CA: put the certificate there that signs, or that of its CA/,
  ],
  [
    'a CA that may sign certificates alone',
    'verifier',
    ({ directory, key }) =>
      writeFileSync(
        join(directory, ANCHOR),
        toPem(forged({ name: certificateName, key }, key, { isCa: true, usages: ['keyCertSign'] })),
      ),
    'issuerTrustAnchors',
    'note',
    /does not allow digitalSignature; it vouches for the certificates that it signed/,
  ],
  [
    'a trust anchor that has expired',
    'verifier',
    ({ directory, key }) =>
      writeFileSync(join(directory, 'conf/trust-anchors/b.pem'), selfSigned(key, 'http://a.example', inDays(-2))),
    'issuerTrustAnchors',
    'warning',
    /CN=Example expired on/,
  ],
  [
    'a key where a trust anchor should be',
    'verifier',
    ({ directory }) => copyFileSync(join(directory, 'conf/verifier.key'), join(directory, ANCHOR)),
    'issuerTrustAnchors',
    'problem',
    /a.pem: it holds a private key/,
  ],
  [
    'TLS, and an address that says otherwise',
    'issuer',
    ({ settings }) => ({ tls: settings.signing }),
    'tls',
    'warning',
    /the service speaks https, and baseUrl says http/,
  ],
]

async function makeDatabase(file: string, migrations: Parameters<typeof openDatabase>[1]): Promise<void> {
  await (await openDatabase({ kind: 'sqlite', file }, migrations)).close()
}

describe('vouchsafe doctor finds', () => {
  it.each(rows)('%s', async (_, service, spoil, subject, outcome, text) => {
    const it = await patient(service)
    Object.assign(it.settings, await spoil(it))
    expect(await examine(it)).toContainEqual({ subject, outcome, text: expect.stringMatching(text) as string })
  })

  it('no problem in what init wrote, and makes nothing', async () => {
    for (const service of ['issuer', 'verifier'] as const) {
      const it = await patient(service)
      const before = filesBelow(it.directory)
      const findings = await examine(it)
      expect(findings.filter(({ outcome }) => outcome === 'problem')).toEqual([])
      expect(new Set(findings.map((finding) => JSON.stringify(finding))).size).toBe(findings.length)
      expect(findings).toContainEqual({ subject: 'settings', outcome: 'ok', text: 'every one is known and complete' })
      expect(filesBelow(it.directory)).toEqual(before)
      expect(existsSync(join(it.directory, 'data'))).toBe(false)
    }
  })

  it('every mistake at once, and looks at the parts that can be read', async () => {
    const it = await patient('verifier')
    Object.assign(it.settings, { prot: 1, port: 'x', baseUrl: 'http://a.example/', issuerTrustAnchors: '/nowhere' })
    it.settings.signing = { keyFile: join(it.directory, 'nope'), certificateFiles: [] }
    const findings = await examine(it)
    const problems = findings.filter(({ outcome }) => outcome === 'problem').map(({ subject }) => subject)
    expect(problems.sort()).toEqual(['baseUrl', 'issuerTrustAnchors', 'port', 'prot', 'signing.certificateFiles'])
    expect(findings.map(({ subject }) => subject)).toContain('database')
  })

  it('and nothing of a database, when it cannot know which one is meant', async () => {
    const it = await patient('issuer')
    it.settings.database = { url: 'postgresql://a:b@127.0.0.1/c', pool: { maxConnections: 0 } }
    const findings = await examine(it)
    expect(findings.map(({ subject }) => subject)).toContain('database.pool.maxConnections')
    expect(findings.map(({ subject }) => subject)).not.toContain('database')
  })

  it('a chain of which each certificate is signed by the next', async () => {
    const it = await patient('issuer')
    const ca = (await patient('issuer')).key
    const name = writeName([['CN', 'Example CA']])
    const content = { serial: randomBytes(16), notBefore: inDays(-1), notAfter: inDays(90) }
    const issuer = { name, privateKey: ca }
    const keys = { publicKey: createPublicKey(it.key), issuerPublicKey: createPublicKey(ca) }
    const names = { uris: [it.settings.baseUrl] }
    const leaf = makeCertificate({
      ...content,
      subject: writeName([['CN', 'Example']]),
      publicKey: keys.publicKey,
      issuer,
      extensions: usualExtensions({ ...keys, isCa: false, names }),
    })
    const caKeys = { publicKey: keys.issuerPublicKey, issuerPublicKey: keys.issuerPublicKey }
    const root = makeCertificate({
      ...content,
      subject: name,
      publicKey: keys.issuerPublicKey,
      issuer,
      extensions: usualExtensions({ ...caKeys, isCa: true }),
    })
    certify(it, toPem(leaf) + toPem(root))
    const texts = (await examine(it)).filter(({ subject }) => subject === 'signing').map(({ text }) => text)
    expect(texts).toContain('each of the 2 certificates is signed by the next')
    expect(texts.join()).not.toContain('self-signed')
    certify(it, toPem(leaf))
    expect(await examine(it)).toContainEqual(
      expect.objectContaining({
        outcome: 'note',
        text: expect.stringMatching(/CN=Example CA, is not sent along/) as string,
      }),
    )
  })

  it('a schema that is older, without changing it', async () => {
    const it = await patient('issuer')
    const file = join(it.directory, 'data/issuer.db')
    await makeDatabase(file, issuerMigrations)
    const newer = { id: 'issuer-9999', statements: createCollection('later') }
    const { databaseFindings } = await import('../../src/bin/doctor/database.ts')
    chmodSync(file, 0o600)
    expect(await databaseFindings({ kind: 'sqlite', file }, [...issuerMigrations, newer])).toMatchObject([
      { outcome: 'note' },
    ])
    expect(await databaseFindings({ kind: 'sqlite', file }, issuerMigrations)).toMatchObject([{ outcome: 'ok' }])
  })
})

describe('the command vouchsafe doctor', () => {
  async function made(service: Service): Promise<Patient> {
    const it = await patient(service)
    writeFileSync(join(it.directory, 'conf/server.json'), JSON.stringify(it.settings))
    return it
  }

  it('tells the service by its settings, and ends with 0 when it could start', async () => {
    for (const service of ['issuer', 'verifier'] as const) {
      const { directory } = await made(service)
      const { status, stdout, stderr } = await vouchsafe(['doctor'], { cwd: directory })
      expect([status, stderr]).toEqual([0, ''])
      expect(stdout).toContain(`conf/server.json, for the ${service}\n`)
      expect(stdout).toMatch(/\n {2}ok {7}settings: every one is known and complete\n/)
      expect(stdout).toMatch(/\nReady to start: no problems, \d warnings?\.\n$/)
      expect(stdout.split('\n').every((line) => line.length <= 80 || line.includes(directory))).toBe(true)
    }
  })

  it('ends with 2 when there is a problem, in JSON as well', async () => {
    const it = await made('issuer')
    writeFileSync(join(it.directory, 'bad.json'), JSON.stringify({ ...it.settings, port: -1 }))
    const plain = await vouchsafe(['doctor', '--config', 'bad.json'], { cwd: it.directory })
    expect(plain.status).toBe(2)
    expect(plain.stdout).toMatch(/\n {2}problem {2}port: must be >= 0\n/)
    expect(plain.stdout).toMatch(/Not ready to start: 1 problem, /)
    const json = await vouchsafe(['doctor', 'issuer', '--config', 'bad.json', '--json'], { cwd: it.directory })
    expect(json.status).toBe(2)
    expect(JSON.parse(json.stdout)).toMatchObject({ service: 'issuer', config: 'bad.json', ready: false })
    const named = await vouchsafe(['doctor', 'verifier', '--json'], { cwd: it.directory })
    expect(JSON.parse(named.stdout)).toMatchObject({ service: 'verifier', ready: false })
    expect(named.stdout).toContain('"subject": "issuer"')
    expect(named.stdout).toContain("this is an issuer's configuration, and not the verifier's")
  })

  it('has what support asks for, and nothing secret, however wrong the configuration is', async () => {
    const it = await made('issuer')
    const planted = ['apikey', 'password', 'signing', 'client', 'misplaced', 'label'].map((word) => {
      return `Planted${word}${randomBytes(24).toString('hex')}`
    })
    const [apiKey = '', password, secret, clientSecret, misplaced = '', label] = planted
    const good = {
      ...it.settings,
      integrations: { authentication: { [apiKey]: label } },
      sessionCallback: { url: `https://app.example/${secret}`, apiKey: secret, secret },
      authorizationServer: {
        issuer: 'https://as.example',
        introspection: { endpoint: `https://as.example/${secret}`, clientId: 'a', clientSecret },
      },
    }
    const bad = {
      ...good,
      database: { url: `jdbc:postgresql://me:${password}@127.0.0.1:1/x`, password },
      integrations: { [misplaced]: label, authentication: { [apiKey]: 7 } },
      sessionCallback: { [misplaced]: secret, url: `ftp://u:${secret}@app.example`, secret },
      signing: { keyFile: misplaced, certificateFiles: [misplaced] },
      [misplaced]: apiKey,
    }
    for (const settings of [good, bad]) {
      writeFileSync(join(it.directory, 'planted.json'), JSON.stringify(settings))
      const words = ['doctor', 'issuer', '--config', 'planted.json']
      const [text, json] = [
        await vouchsafe(words, { cwd: it.directory }),
        await vouchsafe([...words, '--json'], { cwd: it.directory }),
      ]
      const output = [text.stdout, text.stderr, json.stdout, json.stderr].join('').replace(/\s+/g, '')
      expect(planted.filter((word) => output.includes(word))).toEqual([])
      expect(text.stdout).toMatch(/\nvouchsafe \d+\.\d+\.\d+, Node \d+\.\d+\.\d+, \S+ \S+ \S+,\s/)
      expect(JSON.parse(json.stdout)).toMatchObject({
        machine: { vouchsafe: expect.any(String) as string, node: process.version },
        settings: { port: it.settings.port, baseUrl: it.settings.baseUrl, sessionCallback: { secret: '(set)' } },
      })
    }
  })

  it('says where paths begin when a file is missed from elsewhere', async () => {
    const [cwd, elsewhere] = [temporaryDirectory(), temporaryDirectory()]
    await vouchsafe(['init', 'issuer'], { cwd })
    const args = ['--config', join(cwd, 'conf/server.json')]
    const hint = `paths are relative to the working directory (${elsewhere}); run it from its own: cd ${cwd}`
    for (const command of ['doctor', 'issuer']) {
      const { status, stdout, stderr } = await vouchsafe([command, ...args], { cwd: elsewhere })
      expect(status).toBe(2)
      expect((stdout + stderr).replace(/\s+/g, ' ')).toContain(hint)
    }
    expect((await vouchsafe(['doctor', ...args], { cwd })).stdout).not.toContain('working directory')
  })

  it.each([
    [['doctor', '--config', '.'], 'this is a directory'],
    [
      ['doctor', '--config', 'comma.json'],
      "it is not JSON: Expected ',' or '}' after property value, line 2, column 12",
    ],
    [['doctor', '--config', 'word.json'], "it is not JSON: Unexpected token 'o', line 3, column 13"],
    [['doctor', '--config', 'none.json'], 'none.json: the file cannot be read'],
    [['doctor', '--config', 'broken.json'], 'broken.json: it is not JSON'],
    [['doctor', '--config', 'doubled.json'], 'doubled.json: database.url: this member is there twice'],
    [['doctor', '--config', 'latin1.json'], 'latin1.json: it is not UTF-8; write it in that encoding'],
    [['doctor', '--config', 'either.json'], 'it could be of either service'],
    [['doctor', 'verifier', '--config', 'list.json'], 'the configuration must be a JSON object'],
  ])('says what is wrong with the file: %j', async (args, why) => {
    const cwd = temporaryDirectory()
    for (const [name, text] of [
      ['broken', '{'],
      ['comma', '{\n"port": 80 "host": "a"}'],
      ['word', '{\n"host": "somewhere.example",\n    "port": oops,\n"tls": {}}'],
      ['either', '{}'],
      ['list', '[]'],
      ['doubled', '{"database": {"url": "sqlite:a", "url": "sqlite:b"}}'],
      ['latin1', Buffer.from('{"issuer": {"display": {"name": "J\u00fcrgen"}}}', 'latin1')],
    ] as const) {
      writeFileSync(join(cwd, `${name}.json`), text)
    }
    const { status, stdout } = await vouchsafe(args, { cwd })
    expect(status).toBe(2)
    expect(stdout.replace(/\s+/g, ' ')).toContain(why)
  })

  it.each([
    [['doctor', 'engines'], 'There is no doctor engines. Did you mean doctor engine?'],
    [['doctor', '--conf', 'x'], "'--conf'"],
  ])('refuses %j', async (args, why) => {
    const { status, stderr } = await vouchsafe(args)
    expect(status).toBe(2)
    expect(stderr).toContain(why)
  })
})

describe('the credential configurations of an issuer', () => {
  const card = { format: 'dc+sd-jwt', vct: 'urn:example:card' }
  const configured = async (stored: Readonly<Record<string, object>>, settings: object = {}) => {
    const at = await patient('issuer')
    mkdirSync(join(at.directory, 'data'), { recursive: true })
    const store = await openDatabase<IssuerCollections>(
      { kind: 'sqlite', file: join(at.directory, 'data/issuer.db') },
      issuerMigrations,
    )
    for (const [id, configuration] of Object.entries(stored)) {
      const removed = id === 'gone'
      const value = { configuration, removed } as StoredConfiguration
      await store.commit([{ insert: 'credential_configuration', id, value }])
    }
    await store.close()
    const findings = await diagnose('issuer', { ...at.settings, ...settings }, files, new Date())
    return findings.filter(({ subject }) => subject.startsWith('credential configurations'))
  }

  it('are all right where each can be issued, and say nothing where there is none', async () => {
    expect(await configured({ one: card, two: { ...card, scope: 'card' } })).toEqual([
      { subject: 'credential configurations', outcome: 'ok', text: 'all 2 can be issued' },
    ])
    expect(await configured({})).toEqual([])
  })

  it.each<[string, object, object, RegExp]>([
    [
      'is of a format that is no more',
      { format: 'ldp_vc' },
      {},
      /^it cannot be issued any more \(.*\); declare it anew/,
    ],
    [
      'needs attesters that nobody trusts',
      { ...card, key_attestations_required: {} },
      {},
      /^no wallet gets it: .*no attester is trusted/,
    ],
    [
      'has a scope without a dataset',
      { ...card, scope: 'card' },
      {
        authentication: {
          openidConnect: {
            issuer: 'https://login.example',
            clientId: 'x',
            clientSecret: 'y',
            datasets: { other: { claims: { a: 'a' } } },
          },
        },
      },
      /^who signs in gets none without an offer: name card in authentication\.openidConnect\.datasets/,
    ],
  ])('are named where one %s, and not where it was removed', async (_, posted, settings, text) => {
    expect(await configured({ wrong: posted, gone: posted, right: card }, settings)).toEqual([
      { subject: 'credential configurations wrong', outcome: 'warning', text: expect.stringMatching(text) as string },
    ])
  })
})
