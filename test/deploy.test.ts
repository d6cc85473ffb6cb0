/**
 * The files that start the services elsewhere: Dockerfile, deploy/ and docs/how-to/containers.md, as far as that needs
 * no container engine.
 */
import { execFile, spawn } from 'node:child_process'
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parseDocument } from 'yaml'
import { settingsByVariable } from '../src/config/environment.ts'
import { EngineSettings, engineDefaults } from '../src/engine/config.ts'
import { IssuerSettings, issuerDefaults } from '../src/issuer/config.ts'
import { VerifierSettings, verifierDefaults } from '../src/verifier/config.ts'
import { COMMAND, endOf, temporaryDirectory } from './support/command.ts'
import { ROOT, snippetWith } from './support/documents.ts'
import { freePort } from './support/free-port.ts'
import { listening, serviceDirectory, start } from './support/service-process.ts'

const PAGE = 'docs/how-to/containers.md'
const COMPOSE = 'deploy/compose.yaml'
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

const services = { issuer: IssuerSettings, verifier: VerifierSettings, engine: EngineSettings } as const
type Service = keyof typeof services
const PORTS = { issuer: issuerDefaults.port, verifier: verifierDefaults.port, engine: engineDefaults.port } as const

/** Returns the variables that a text sets, with their values. */
function variablesOf(text: string): Record<string, string> {
  const rows = [...text.matchAll(/(VOUCHSAFE_\w+)(?:: |=)("[^"]*"|\S+)/g)]
  return Object.fromEntries(rows.map(([, name = '', value = '']) => [name, value.replace(/^"|"$/g, '')]))
}

/** Returns the lines of a service in the compose file. */
function composed(service: Service): string {
  return new RegExp(`^  ${service}:\n((?:    .*\n)+)`, 'm').exec(read(COMPOSE))?.[1] ?? ''
}

/** Returns the lines of a target of the Dockerfile. */
function target(service: Service | 'service'): string {
  return (
    read('Dockerfile')
      .split(/^FROM .* AS /m)
      .find((stage) => stage.startsWith(`${service}\n`)) ?? ''
  )
}

const documents = readdirSync(join(ROOT, 'deploy'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.yaml') && !path.includes('templates'))
  .map((path) => `deploy/${path}`)

it.each(documents)('%s is YAML', (path) => {
  const { errors, contents } = parseDocument(read(path))
  expect(errors).toEqual([])
  expect(contents).not.toBeNull()
})

describe('the settings of', () => {
  const everywhere = Object.keys(services) as Service[]

  it.each(everywhere)('the image of the %s are settings of it, and its word and port are its own', (service) => {
    const variables = variablesOf(target(service))
    const ofEngines = service === 'engine' ? ['VOUCHSAFE_COMPONENT_DIRECTORY'] : []
    expect(Object.keys(variables)).toEqual(['VOUCHSAFE_HOST', 'VOUCHSAFE_PORT', ...ofEngines])
    for (const name of Object.keys(variables)) expect(settingsByVariable(services[service]).has(name)).toBe(true)
    const port = variables.VOUCHSAFE_PORT ?? ''
    expect(port).toBe(String(PORTS[service]))
    expect(target(service)).toMatch(new RegExp(`EXPOSE ${port}\\nHEALTHCHECK .*"${port}"\\]\\nCMD \\["${service}"\\]`))
  })

  it('the chart are the values that its schema takes, and no others', () => {
    interface Schema {
      readonly additionalProperties?: boolean
      readonly properties?: Readonly<Record<string, Schema>>
    }
    const schema = JSON.parse(read('deploy/helm/vouchsafe/values.schema.json')) as Schema
    const values = read('deploy/helm/vouchsafe/values.yaml')
    const names = [...values.matchAll(/^(\w+):/gm)].map(([, name = '']) => name)
    expect(schema.additionalProperties).toBe(false)
    expect(Object.keys(schema.properties ?? {})).toEqual([...names, 'global'])
    for (const [name, { additionalProperties, properties }] of Object.entries(schema.properties ?? {})) {
      if (additionalProperties !== false) continue
      const [, block = ''] = new RegExp(`^${name}:\n((?:  .*\n)+)`, 'm').exec(values) ?? []
      const members = [...block.matchAll(/^ {2}(\w+):/gm)].map(([, member = '']) => member)
      expect(Object.keys(properties ?? {})).toEqual(members)
    }
  })

  it.each(['issuer', 'verifier'] as const)('the %s in the compose file are settings of it', (service) => {
    const names = Object.keys(variablesOf(composed(service)))
    expect(names.length).toBeGreaterThan(4)
    const known = settingsByVariable(services[service])
    expect(names.filter((name) => !known.has(name) && !known.has(name.replace(/_FILE$/, '')))).toEqual([])
  })

  it('the chart, and of the values on the page, are settings of every service that gets them', () => {
    const ofVerifiers = ['VOUCHSAFE_ISSUER_TRUST_ANCHORS']
    const chart = ['values.yaml', 'templates/_helpers.tpl'].map((path) => read(`deploy/helm/vouchsafe/${path}`))
    const page = snippetWith(PAGE, 'service: issuer')
    const names = [...`${chart.join('\n')}\n${page}`.matchAll(/^ *(?:- name: )?(VOUCHSAFE_\w+)/gm)].map(
      ([, name = '']) => name,
    )
    expect(names.length).toBeGreaterThan(8)
    for (const [service, schema] of Object.entries(services)) {
      const known = settingsByVariable(schema)
      const given = names.filter((name) => service === 'verifier' || !ofVerifiers.includes(name))
      expect(given.filter((name) => !known.has(name) && !known.has(name.replace(/_FILE$/, '')))).toEqual([])
    }
  })
})

it('an engine keeps its components where the image, the chart and the unit of systemd let it write', () => {
  const directory = variablesOf(target('engine')).VOUCHSAFE_COMPONENT_DIRECTORY ?? ''
  expect(directory).toMatch(/^data\//)
  expect(target('service')).toContain('VOLUME /srv/vouchsafe/data\n')
  expect(read('deploy/helm/vouchsafe/templates/_helpers.tpl')).toContain(
    '{ name: data, mountPath: /srv/vouchsafe/data }',
  )
  const [, writable = ''] = /^ReadWritePaths=(.*)$/m.exec(read('deploy/systemd/vouchsafe@.service')) ?? []
  // With the sign of systemd for a path that may be missing, as at an issuer.
  expect(writable.split(' ')).toContain(`-/srv/vouchsafe/%i/${engineDefaults.componentDirectory}`)
})

it('the page on production makes each directory without which the unit of systemd does not start', () => {
  const [, writable = ''] = /^ReadWritePaths=(.*)$/m.exec(read('deploy/systemd/vouchsafe@.service')) ?? []
  const [beforeUnit = ''] = read('docs/how-to/production.md').split('systemctl enable')
  const made = /^install -d .*$/m.exec(beforeUnit)?.[0].split(' ') ?? []
  for (const path of writable.split(' ').filter((each) => !each.startsWith('-'))) {
    expect(made).toContain(path.replace('%i', 'issuer'))
  }
})

it('the services of the compose file have their data in volumes with names, so that a new container makes no other', () => {
  const [, volumes = ''] = /^volumes:\n((?: {2}.*\n?)+)/m.exec(read(COMPOSE)) ?? []
  for (const service of ['issuer', 'verifier'] as const) {
    expect(composed(service)).toContain(`"${service}-data:/srv/vouchsafe/data"`)
    expect(volumes).toContain(`  ${service}-data:`)
  }
})

it('the names that the chart makes have 63 characters at most, also of a release with the longest name', () => {
  const [, longest = ''] = / trunc (\d+) /.exec(read('deploy/helm/vouchsafe/templates/_helpers.tpl')) ?? []
  const templates = readdirSync(join(ROOT, 'deploy/helm/vouchsafe/templates'))
  const texts = templates.map((file) => read(`deploy/helm/vouchsafe/templates/${file}`)).join('\n')
  const ends = [...texts.matchAll(/include "vouchsafe\.name" \. \}\}([\w-]*)/g)].map(([, end = '']) => end)
  expect(ends).toContain('-metrics')
  for (const end of ends) expect(Number(longest) + end.length).toBeLessThanOrEqual(63)
})

it('no layer of a build has what git ignores: keys, credentials and configurations of this machine', () => {
  const patternsOf = (file: string) =>
    read(file)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.replace(/^(\*\*)?\/|\/$/g, ''))
  const left = new Set(patternsOf('.dockerignore'))
  const isLeft = (path: string) =>
    path.split('/').some((_, index, parts) => left.has(parts.slice(0, index + 1).join('/')))
  expect(patternsOf('.gitignore').filter((path) => !isLeft(path))).toEqual([])
})

it('the images have what the services need: a test runs them from a copy of these files alone', () => {
  expect(target('service')).toContain('COPY --from=build /build/dist /opt/vouchsafe/dist\n')
  expect(target('service')).toContain('COPY --from=build /build/deploy/ready.mjs /opt/vouchsafe/\n')
  expect(target('service')).toContain('USER 1000:1000\n')
})

it('the command on the path of the images can be executed by its name', async () => {
  const [, file = ''] = /ln -s \/opt\/vouchsafe\/(\S+) \/usr\/local\/bin\/vouchsafe\n/.exec(target('service')) ?? []
  const path = temporaryDirectory()
  symlinkSync(join(ROOT, file), join(path, 'vouchsafe'))
  const env = { PATH: `${path}:${process.env.PATH ?? ''}` }
  await expect(promisify(execFile)('vouchsafe', ['--version'], { env })).resolves.toMatchObject({ stderr: '' })
})

describe('the files of the page', () => {
  const NOBODY = 65_534

  it.each(['issuer', 'verifier'] as const)(
    'start the %s by the variables of the compose file, without rights, in a directory that it cannot write',
    async (service) => {
      const root = temporaryDirectory()
      for (const path of ['dist', 'deploy']) cpSync(join(ROOT, path), join(root, path), { recursive: true })
      // The images have Node 24, which brings SQLite; an older Node takes it from a package.
      if (!isBuiltin('node:sqlite')) symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
      await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', snippetWith(PAGE, 'init verifier --dir')], {
        cwd: root,
      })
      const place = join(root, 'deploy', service)
      mkdirSync(join(place, 'data'))
      const isRoot = process.getuid?.() === 0
      if (isRoot) for (const path of belowAndItself(place)) chownSync(path, NOBODY, NOBODY)
      if (isRoot) chmodSync(root, 0o755)
      chmodSync(place, 0o555)
      onTestFinished(() => chmodSync(place, 0o755))

      const variables = variablesOf(composed(service))
      const url = /:-(http:[^}]*)\}/.exec(variables.VOUCHSAFE_BASE_URL ?? '')?.[1] ?? ''
      const withoutDatabase = Object.entries(variables).filter(([name]) => !name.includes('DATABASE'))
      const environment = {
        ...Object.fromEntries(withoutDatabase),
        ...variablesOf(target(service)),
        VOUCHSAFE_BASE_URL: url,
        VOUCHSAFE_HOST: '127.0.0.1',
        VOUCHSAFE_PORT: '0',
        VOUCHSAFE_MANAGEMENT__HOST: '127.0.0.1',
        VOUCHSAFE_MANAGEMENT__PORT: '0',
      }
      const backups = temporaryDirectory()
      if (isRoot) chownSync(backups, NOBODY, NOBODY)
      const child = spawn(process.execPath, [join(root, 'dist/vouchsafe.cjs'), service], {
        cwd: place,
        env: environment,
        ...(isRoot && { uid: NOBODY, gid: NOBODY }),
      })
      onTestFinished(() => void child.kill('SIGKILL'))
      const running = await listening(child, endOf(child))
      const ask = () => promisify(execFile)(process.execPath, [join(root, 'deploy/ready.mjs'), String(running.port)])
      // On a busy machine an answer may take longer than the health check waits, which is asked again then.
      await expect.poll(() => ask().catch(String), { timeout: 300_000 }).toMatchObject({ stdout: '', stderr: '' })
      const command = (words: readonly string[]) =>
        promisify(execFile)(process.execPath, [join(root, 'dist/vouchsafe.cjs'), ...words], {
          cwd: place,
          env: { ...environment, TMPDIR: backups },
          ...(isRoot && { uid: NOBODY, gid: NOBODY }),
        })
      await command(['db', 'backup', join(backups, 'copy.db')])
      child.kill('SIGKILL')
      await running.ended
      const restored = await command(['db', 'restore', join(backups, 'copy.db')])
      expect(restored.stdout).toContain('is restored from')
      await expect(ask()).rejects.toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^not ready: ECONNREFUSED\n/) as string,
      })
    },
  )
})

describe('the health check asks', () => {
  const tls = { keyFile: 'issuer.key', certificateFiles: ['issuer.pem'] }

  /** Returns variables of which one names a file with the port. */
  function portInFile(port: string): Record<string, string> {
    const file = join(temporaryDirectory(), 'port')
    writeFileSync(file, `${port}\n`)
    return { VOUCHSAFE_PORT: '1', VOUCHSAFE_PORT_FILE: file }
  }

  /** Starts an issuer, and returns what the health check says in its directory with variables. */
  async function check(settings: object, variables: (port: string) => Record<string, string>) {
    const directory = await serviceDirectory('issuer', { ...settings })
    const running = await start('issuer', directory)
    onTestFinished(() => void running.child.kill('SIGKILL'))
    const options = { cwd: directory, env: { PATH: process.env.PATH, ...variables(String(running.port)) } }
    return promisify(execFile)(process.execPath, [join(ROOT, 'deploy/ready.mjs'), '1'], options)
  }

  it.each<[string, object, (port: string) => Record<string, string>]>([
    ['the port of a variable', {}, (port) => ({ VOUCHSAFE_PORT: port })],
    ['the port of a file, which goes before the variable of the image', {}, portInFile],
    ['every interface by loopback', {}, (port) => ({ VOUCHSAFE_PORT: port, VOUCHSAFE_HOST: '0.0.0.0' })],
    ['by TLS where the configuration has it', { tls }, (port) => ({ VOUCHSAFE_PORT: port })],
  ])('%s', async (_, settings, variables) => {
    await expect(check(settings, variables)).resolves.toMatchObject({ stdout: '', stderr: '' })
  })

  it('by TLS where a variable has it, and the port of the configuration', async () => {
    const port = await freePort()
    const directory = await serviceDirectory('issuer', { port })
    const variables = { VOUCHSAFE_TLS__KEY_FILE: 'issuer.key', VOUCHSAFE_TLS__CERTIFICATE_FILES: '["issuer.pem"]' }
    const env = { PATH: process.env.PATH, ...variables }
    const child = spawn(process.execPath, [COMMAND, 'issuer'], { cwd: directory, env })
    onTestFinished(() => void child.kill('SIGKILL'))
    await listening(child, endOf(child))
    const ready = join(ROOT, 'deploy/ready.mjs')
    const asked = promisify(execFile)(process.execPath, [ready, '1'], { cwd: directory, env })
    await expect(asked).resolves.toMatchObject({ stdout: '', stderr: '' })
  })

  it('for TLS, and says no where the service has none', async () => {
    const asked = check({}, (port) => ({ VOUCHSAFE_PORT: port, VOUCHSAFE_TLS__KEY_FILE: 'issuer.key' }))
    await expect(asked).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(/^not ready: /) as string })
  })
})

function belowAndItself(directory: string): string[] {
  return [
    directory,
    ...readdirSync(directory, { recursive: true, encoding: 'utf8' }).map((path) => join(directory, path)),
  ]
}
