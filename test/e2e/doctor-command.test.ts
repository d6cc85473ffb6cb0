/** The command `vouchsafe doctor`: its output, its exit status, and files that it cannot read. */
import { randomBytes } from 'node:crypto'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readConfigFile } from '../../src/bin/service/config-file.ts'
import { COMMAND, temporaryDirectory, vouchsafe } from '../support/command.ts'
import { makeServiceFiles, type ServiceFiles } from '../support/doctor.ts'

/** Makes the files of a service, with its settings in `conf/server.json`. */
async function writeServiceFiles(service: ServiceFiles['service']): Promise<ServiceFiles> {
  const it = await makeServiceFiles(service)
  writeFileSync(join(it.directory, 'conf/server.json'), JSON.stringify(it.settings))
  return it
}

it('tells the service by its settings, and ends with 0 when it could start', async () => {
  for (const service of ['issuer', 'verifier'] as const) {
    const { directory } = await writeServiceFiles(service)
    const { status, stdout, stderr } = await vouchsafe(['doctor'], { cwd: directory })
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toContain(`conf/server.json, for the ${service}\n`)
    expect(stdout).toMatch(/\n {2}ok {7}settings: every one is known and complete\n/)
    expect(stdout).toMatch(/\nReady to start: no problems, \d warnings?\.\n$/)
    expect(stdout.split('\n').every((line) => line.length <= 80 || line.includes(directory))).toBe(true)
  }
})

it('ends with 2 when there is a problem, in JSON as well', async () => {
  const it = await writeServiceFiles('issuer')
  writeFileSync(join(it.directory, 'bad.json'), JSON.stringify({ ...it.settings, port: -1 }))
  const plain = await vouchsafe(['doctor', '--config', 'bad.json'], { cwd: it.directory })
  expect(plain.status).toBe(2)
  expect(plain.stdout).toMatch(/\n {2}problem {2}port: must be at least 0\n/)
  expect(plain.stdout).toMatch(/Not ready to start: 1 problem, /)
  const json = await vouchsafe(['doctor', 'issuer', '--config', 'bad.json', '--json'], { cwd: it.directory })
  expect(json.status).toBe(2)
  expect(JSON.parse(json.stdout)).toMatchObject({ service: 'issuer', config: 'bad.json', ready: false })
  const ofVerifier = await vouchsafe(['doctor', 'verifier', '--json'], { cwd: it.directory })
  expect(JSON.parse(ofVerifier.stdout)).toMatchObject({ service: 'verifier', ready: false })
  expect(ofVerifier.stdout).toContain('"subject": "issuer"')
  expect(ofVerifier.stdout).toContain("this is an issuer's configuration, and not the verifier's")
})

it('warns of a configuration that others can read, since it has API keys', async () => {
  const { directory } = await writeServiceFiles('issuer')
  chmodSync(join(directory, 'conf/server.json'), 0o644)
  const { stdout } = await vouchsafe(['doctor'], { cwd: directory })
  expect(stdout.replace(/\s+/g, ' ')).toMatch(/warning configuration: other users .*conf\/server\.json \(mode 644\)/)
})

it('warns once of each thing about an engine, whose configuration may have a password', async () => {
  const cwd = temporaryDirectory()
  await vouchsafe(['init', 'engine'], { cwd })
  const file = join(cwd, 'conf/server.json')
  const settings = JSON.parse(readFileSync(file, 'utf8')) as object
  writeFileSync(file, JSON.stringify({ ...settings, database: { url: 'sqlite::memory:' } }))
  chmodSync(file, 0o644)
  const text = (await vouchsafe(['doctor', 'engine'], { cwd })).stdout.replace(/\s+/g, ' ')
  expect(text).toMatch(/warning configuration: other users .*conf\/server\.json \(mode 644\)/)
  expect(text.match(/database: it is in memory/g)).toHaveLength(1)
})

it('has what support asks for, and nothing secret, however wrong the configuration is', async () => {
  const it = await writeServiceFiles('issuer')
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
    expect(text.stdout).toMatch(/\nvouchsafe \d+\.\d+\.\d+(?:-dev)?, Node \d+\.\d+\.\d+, \S+ \S+ \S+,\s/)
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

/** Makes files that are no configuration, by what is wrong with each. */
function wrongFiles(): string {
  const cwd = temporaryDirectory()
  for (const [name, text] of [
    ['broken', '{'],
    ['comma', '{\n"port": 80 "host": "a"}'],
    ['word', '{\n"host": "somewhere.example",\n    "port": oops,\n"tls": {}}'],
    ['any', '{}'],
    ['list', '[]'],
    ['doubled', '{"database": {"url": "sqlite:a", "url": "sqlite:b"}}'],
    ['latin1', Buffer.from('{"issuer": {"display": {"name": "J\u00fcrgen"}}}', 'latin1')],
  ] as const) {
    writeFileSync(join(cwd, `${name}.json`), text)
  }
  return cwd
}

it.each([
  ['.', 'this is a directory'],
  ['comma.json', "it is not JSON: Expected ',' or '}' after property value, line 2, column 12"],
  ['word.json', "it is not JSON: Unexpected token 'o', line 3, column 13"],
  ['none.json', 'none.json: the file cannot be read'],
  ['doubled.json', 'doubled.json: database.url: this member is there twice'],
  ['latin1.json', 'latin1.json: it is not UTF-8; write it in that encoding'],
])('finds what is wrong with the file %s', (name, why) => {
  expect(readConfigFile(join(wrongFiles(), name))).toEqual({ mistakes: [expect.stringContaining(why)] })
})

it.each([
  [['doctor', '--config', 'broken.json'], 'broken.json: it is not JSON'],
  [
    ['doctor', '--config', 'any.json'],
    `it does not tell whose configuration it is; name the service (issuer, verifier, engine), as in: node ${COMMAND} doctor issuer`,
  ],
  [['doctor', 'verifier', '--config', 'list.json'], 'the configuration must be a JSON object'],
])('says what is wrong with the file: %j', async (args, why) => {
  const { status, stdout } = await vouchsafe(args, { cwd: wrongFiles() })
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
