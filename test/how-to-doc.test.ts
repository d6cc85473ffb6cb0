/** The steps of docs/how-to/trust-anchor.md, change-a-key.md, update.md and production.md lead where the pages say. */
import { spawn, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventTypes } from '../src/event/event.ts'
import { COMMAND, endOf, temporaryDirectory, vouchsafe } from './support/command.ts'
import { ROOT, snippetWith } from './support/documents.ts'
import { listening, start } from './support/service-process.ts'
import { runShell } from './support/shell.ts'

const ANCHOR = 'docs/how-to/trust-anchor.md'
const PRODUCTION = 'docs/how-to/production.md'
const UPDATE = 'docs/how-to/update.md'
const CHANGE_A_KEY = 'docs/how-to/change-a-key.md'
const UNIT = join(ROOT, 'deploy/systemd/vouchsafe@.service')
/** The most that `systemd-analyze security` may say of the unit, of 10. */
const MAX_EXPOSURE = 1.5

/** Returns the unit of a service, as systemd makes it of the template. */
const unitOf = (service: string): string => readFileSync(UNIT, 'utf8').replaceAll('%i', service)

/** Sets members of the configuration in a directory. */
function configure(directory: string, more: object): void {
  const file = join(directory, 'conf/server.json')
  writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), ...more }))
}

it('a verifier trusts one more issuer without a restart', async () => {
  const directory = temporaryDirectory()
  await vouchsafe(['init', 'issuer', '--dir', 'issuer'], { cwd: directory })
  await vouchsafe(['init', 'verifier'], { cwd: directory })
  copyFileSync(join(directory, 'conf/verifier.pem'), join(directory, 'conf/trust-anchors/first.pem'))
  copyFileSync(join(directory, 'issuer/conf/issuer.pem'), join(directory, 'issuer.pem'))
  configure(directory, { port: 0 })
  const { child, ended } = await start('verifier', directory)
  onTestFinished(() => void child.kill('SIGKILL'))

  const shown = await runShell(snippetWith(ANCHOR, '-fingerprint'), directory)
  const fingerprint = /Fingerprint=([\dA-F:]+)/i.exec(shown)?.[1]?.replaceAll(':', '').toLowerCase() ?? 'none'
  const doctor = await runShell(snippetWith(ANCHOR, 'vouchsafe doctor'), directory)
  expect(doctor).toContain('issuerTrustAnchors: CN=Example Issuer is valid until')
  let log = ''
  child.stdout?.on('data', (chunk: string) => (log += chunk))
  await runShell(snippetWith(ANCHOR, 'kill -HUP'), directory, { PID: String(child.pid) })
  await expect.poll(() => log).toContain('"event":"renewed"')
  child.kill('SIGTERM')
  await ended
  // A report names a certificate by the same fingerprint.
  expect(fingerprint).toMatch(/^[\da-f]{64}$/)
})

it('a self-signed certificate is made anew for its key', async () => {
  const directory = temporaryDirectory()
  await vouchsafe(['init', 'issuer', '--base-url', 'https://issuer.example'], { cwd: directory })
  configure(directory, { port: 0 })
  await runShell(snippetWith(CHANGE_A_KEY, 'openssl req -x509'), directory)
  renameSync(join(directory, 'issuer-new.pem'), join(directory, 'conf/issuer.pem'))
  const { stdout } = await vouchsafe(['doctor', 'issuer'], { cwd: directory })
  expect(stdout).toContain('Ready to start')
  expect(stdout).not.toMatch(/alternative name|key usage/)
})

it('the new release looks at what runs, and takes its place when the link leads to it', async () => {
  const directory = temporaryDirectory()
  const asHere = (script: string): string => script.replaceAll(/\/(opt|backup|etc)\b/g, `${directory}/$1`)
  for (const version of ['OLD', 'VERSION']) {
    mkdirSync(join(directory, `opt/vouchsafe-${version}/node_modules`), { recursive: true })
    symlinkSync(ROOT, join(directory, `opt/vouchsafe-${version}/node_modules/vouchsafe`))
  }
  symlinkSync('vouchsafe-OLD', join(directory, 'opt/vouchsafe'))
  mkdirSync(join(directory, 'backup'))
  mkdirSync(join(directory, 'etc/vouchsafe'), { recursive: true })
  writeFileSync(join(directory, 'etc/vouchsafe/issuer.env'), '')
  await vouchsafe(['init', 'issuer'], { cwd: directory })
  configure(directory, { port: 0 })
  const { child, ended } = await start('issuer', directory)
  onTestFinished(() => void child.kill('SIGKILL'))

  const seen = await runShell(asHere(snippetWith(UPDATE, 'db migrate')), directory)
  expect(seen).toMatch(/issuer-before-VERSION\.db is a backup/)
  expect(seen).toMatch(/Ready to start/)
  expect(seen).toMatch(/the newest\n$/)
  await runShell(asHere(snippetWith(UPDATE, 'ln -sfn')), directory)
  expect(readlinkSync(join(directory, 'opt/vouchsafe'))).toBe('vouchsafe-VERSION')
  child.kill('SIGTERM')
  await ended
})

describe('in production', () => {
  it('the doctor finds nothing in what init wrote but a self-signed certificate', async () => {
    const directory = temporaryDirectory()
    // A name that can be resolved everywhere.
    const init = snippetWith(PRODUCTION, 'vouchsafe init issuer').replace('issuer.example', 'localhost')
    await runShell(init, directory)
    configure(directory, { port: 0 })
    const report = await runShell(snippetWith(PRODUCTION, 'vouchsafe doctor issuer'), directory)
    expect(report).toMatch(/self-signed/)
  })

  it('the unit of systemd starts, renews and stops the service', async () => {
    const unit = unitOf('issuer')
    const directive = (name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? ''
    const directory = temporaryDirectory()
    await vouchsafe(['init', directive('ExecStart').split(' ').at(-1) ?? ''], { cwd: directory })
    configure(directory, { port: 0, stopping: { graceSeconds: 1 } })

    const [, script = '', ...words] = directive('ExecStart').split(' ')
    expect(script).toMatch(/\/node_modules\/vouchsafe\/dist\/vouchsafe\.cjs$/)
    const child = spawn(process.execPath, [COMMAND, ...words], { cwd: directory })
    onTestFinished(() => void child.kill('SIGKILL'))
    const ended = endOf(child)
    let log = ''
    child.stdout.on('data', (chunk: Buffer) => (log += chunk.toString()))
    await listening(child, ended)
    await runShell(directive('ExecReload').replace('/bin/kill', 'kill'), directory, { MAINPID: String(child.pid) })
    await expect.poll(() => log).toContain('"event":"renewed"')
    child.kill('SIGTERM')
    expect((await ended).status).toBe(0)

    // A mistake that no restart mends ends with the status for which the unit does not try again.
    configure(directory, { port: 'none' })
    const refused = spawnSync(process.execPath, [COMMAND, ...words], { cwd: directory })
    expect(String(refused.status)).toBe(directive('RestartPreventExitStatus'))
    const { stopping } = JSON.parse(snippetWith(PRODUCTION, '"stopping"')) as { stopping: { graceSeconds: number } }
    expect(Number(directive('TimeoutStopSec'))).toBeGreaterThanOrEqual(stopping.graceSeconds + 15)
  })

  it('the page shows the unit of the repository', () => {
    expect(snippetWith(PRODUCTION, 'ExecReload').trim()).toBe(readFileSync(UNIT, 'utf8').trim())
  })

  it('the unit of backups writes one of the day, and deletes old ones after it', async () => {
    const directory = temporaryDirectory()
    await vouchsafe(['init', 'issuer'], { cwd: directory })
    configure(directory, { port: 0 })
    const { child, ended } = await start('issuer', directory)
    child.kill('SIGTERM')
    await ended
    const folder = join(directory, 'backup')
    mkdirSync(folder)
    const old = join(folder, 'issuer-2026-01-01.db')
    writeFileSync(old, '')
    utimesSync(old, 0, 0)
    const [, words = '', after = ''] =
      /^ExecStart=(.*)\nExecStartPost=(.*)$/m.exec(snippetWith(PRODUCTION, 'ExecStartPost')) ?? []
    const line = words
      .replace('$$', '$')
      .replace('%%', '%')
      .replace(/\/usr\/bin\/node \S+/, 'vouchsafe')
    await runShell(`${line}\n${after}`.replaceAll('/backup', folder), directory)
    expect(readdirSync(folder)).toEqual([expect.stringMatching(/^issuer-\d{4}-\d\d-\d\d\.db$/)])
  })

  it('systemd knows each directive of the unit, and finds little that its service could do to the machine', () => {
    if (spawnSync('systemd-analyze', ['--version']).status !== 0) {
      process.stderr.write('NO SYSTEMD, NO TEST OF ITS UNIT: systemd-analyze is not on this machine\n')
      expect(process.env.VOUCHSAFE_TEST_SYSTEMD).not.toBe('required')
      return
    }
    const unit = unitOf('issuer')
      .replace(/^ExecStart=.*$/m, `ExecStart=${process.execPath} ${COMMAND} issuer`)
      .replace(/^(User|WorkingDirectory|ReadWritePaths)=.*\n/gm, '')
    const file = join(temporaryDirectory(), 'vouchsafe-issuer.service')
    writeFileSync(file, unit)
    const verified = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
    expect(verified.stderr.split('\n').filter((line) => line.includes('vouchsafe-issuer.service'))).toEqual([])
    const words = ['security', '--offline=yes', `--threshold=${String(MAX_EXPOSURE * 10)}`, '--no-pager', UNIT]
    const security = spawnSync('systemd-analyze', words, { encoding: 'utf8' })
    expect(security.stdout).toMatch(/Overall exposure level/)
    expect(security.status).toBe(0)
  })
})

it.each(['prometheus-rules.yaml', 'grafana-dashboard.json'])(
  '%s names metrics and types of events that there are',
  (file) => {
    const metrics = readFileSync(join(import.meta.dirname, '../docs/metrics.md'), 'utf8')
    const rules = readFileSync(join(import.meta.dirname, '../deploy', file), 'utf8')
    const named = [...rules.matchAll(/vouchsafe_(?:\(([a-z|]+)\)|([a-z]+))_(\w+)/g)].map(
      ([, several, one = '', name = '']) => ({
        services: several?.split('|') ?? [one],
        name: name.replace(/_bucket$/, ''),
      }),
    )
    expect(named.length).toBeGreaterThan(8)
    const missing = named.flatMap(({ services, name }) =>
      services.map((service) => `vouchsafe_${service}_${name}`).filter((each) => !metrics.includes(`\`${each}\``)),
    )
    expect(missing).toEqual([])
    const types = [...rules.matchAll(/type="([^"]+)"/g)].map(([, type = '']) => type)
    expect(types.filter((type) => !Object.hasOwn(eventTypes, type))).toEqual([])
  },
)

it('neither the page nor the rules for alerts name a metric that no service has', () => {
  const read = (path: string) => readFileSync(join(import.meta.dirname, '..', path), 'utf8')
  const metrics = read('docs/metrics.md')
  const page = read(PRODUCTION) + read('deploy/prometheus-rules.yaml')
  const names = [...page.matchAll(/vouchsafe_\w+/g)].map(([name]) => name)
  expect(names.length).toBeGreaterThan(3)
  expect(names.filter((name) => !metrics.includes(`\`${name}\``))).toEqual([])
})
