import { execFileSync } from 'node:child_process'
import { createHash, X509Certificate } from 'node:crypto'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { commandNames } from '../../src/bin/command-table/index.ts'
import { writeFirstFiles } from '../../src/bin/init/init.ts'
import { commandName, shellWord } from '../../src/bin/terminal/command-line.ts'
import { helpOf } from '../../src/bin/terminal/help.ts'
import type { Files } from '../../src/config/files.ts'
import { EngineSettings } from '../../src/engine/config.ts'
import { IssuerSettings, readIssuerConfig } from '../../src/issuer/config.ts'
import { identifierProblem } from '../../src/keys/certificate-identifier.ts'
import { readVerifierConfig, VerifierSettings } from '../../src/verifier/config.ts'
import { filesBelow, temporaryDirectory, vouchsafe } from '../support/command.ts'

const filesIn = (directory: string): Files => ({
  read: (path) => readFileSync(resolve(directory, path), 'utf8'),
  list: (path) => readdirSync(resolve(directory, path)),
  resolveLink: (path) => path,
})
const settingsIn = (directory: string): unknown => JSON.parse(readFileSync(join(directory, 'conf/server.json'), 'utf8'))

describe('vouchsafe init', () => {
  it('writes an issuer that can start, and says how to go on', async () => {
    const cwd = temporaryDirectory()
    const { status, stdout, stderr } = await vouchsafe(['init', 'issuer'], { cwd })
    expect([status, stderr]).toEqual([0, ''])
    expect(filesBelow(cwd)).toEqual(['conf/issuer.key', 'conf/issuer.pem', 'conf/issuer.secrets', 'conf/server.json'])
    for (const secret of ['conf/issuer.key', 'conf/issuer.secrets', 'conf/server.json']) {
      expect(statSync(join(cwd, secret)).mode & 0o777).toBe(0o600)
    }
    const read = readIssuerConfig(settingsIn(cwd), filesIn(cwd), new Date())
    expect(read).toMatchObject({
      warnings: [expect.stringMatching(/self-signed/)],
      config: { port: 8079, host: '127.0.0.1', baseUrl: 'http://localhost:8079' },
    })
    if (!('config' in read)) return
    const [apiKey = ''] = Object.keys(read.config.apiKeys)
    expect(apiKey).toMatch(/^[0-9a-f]{64}$/)
    expect(stdout).toContain(`-H 'Authorization: Bearer ${apiKey}'`)
    expect(stdout).toContain(`cd ${cwd}\n`)
    expect(stdout).toContain('cp conf/issuer.pem VERIFIER-DIR/conf/trust-anchors/')
    const prose = stdout.split('\n').filter((line) => !line.includes('vouchsafe.cjs') && !line.includes(apiKey))
    expect(prose.filter((line) => line.length > 80)).toEqual([])
  })

  it('says where it cannot write, and what to do', async () => {
    const cwd = temporaryDirectory()
    writeFileSync(join(cwd, 'file'), '')
    for (const [service, dir] of [
      ['issuer', '/proc/x'],
      ['verifier', join(cwd, 'file', 'below')],
      ['engine', join(cwd, 'file', 'below')],
    ] as const) {
      const { status, stderr } = await vouchsafe(['init', service, '--dir', dir], { cwd })
      expect([status, stderr]).toEqual([2, expect.stringMatching(/: it cannot be made \(\w+\); name another place\n$/)])
    }
  })

  it('writes an issuer by HAIP with a CA and a provider of wallets for tests, in lines that fit a terminal', async () => {
    const cwd = temporaryDirectory()
    const { status, stdout } = await vouchsafe(['init', 'issuer', '--profile', 'haip'], { cwd })
    expect(status).toBe(0)
    const secrets = ['conf/issuer.key', 'conf/issuer.secrets', 'conf/server.json', 'test-provider/provider.key']
    const others = ['conf/issuer-ca.pem', 'conf/issuer.pem', 'conf/wallet-providers/test-provider.pem']
    expect([...filesBelow(cwd)].sort()).toEqual([...secrets, ...others, 'test-provider/provider.pem'].sort())
    for (const secret of secrets) expect(statSync(join(cwd, secret)).mode & 0o777).toBe(0o600)
    expect(readIssuerConfig(settingsIn(cwd), filesIn(cwd), new Date())).toMatchObject({
      config: { profile: 'haip', codeFlow: { trustsOffers: true } },
      warnings: [expect.stringMatching(/^walletProviderTrustAnchors: .* attests any wallet; take its certificate out/)],
    })
    const prose = stdout.split('\n').filter((line) => !/vouchsafe.cjs|Bearer/.test(line))
    expect(prose.filter((line) => line.length > 80)).toEqual([])
  })

  it.each([[], ['--profile', 'haip']])(
    'writes certificates for mobile documents, by ISO/IEC 18013-5 annex B, with %j',
    async (...profile: string[]) => {
      const cwd = temporaryDirectory()
      const args = [...profile, '--country', 'DE', '--base-url', 'https://issuer.example']
      const { status, stdout } = await vouchsafe(['init', 'issuer', ...args], { cwd })
      expect(status).toBe(0)
      const details = (name: string, what: string) =>
        execFileSync('openssl', ['x509', '-in', `conf/${name}`, '-noout', ...what.split(' ')], { cwd }).toString()
      const usages = '-subject -ext keyUsage,extendedKeyUsage,basicConstraints'
      expect(details('issuer-ca.pem', usages).replaceAll(/\s+/g, ' ')).toMatch(
        /C ?= ?DE, CN ?= ?Example Issuer Test CA .*CA:TRUE, pathlen:0 .*critical Certificate Sign, CRL Sign $/,
      )
      expect(details('issuer.pem', usages).replaceAll(/\s+/g, ' ')).toMatch(
        /C ?= ?DE, CN ?= ?Example Issuer .*critical Digital Signature .*critical 1\.0\.18013\.5\.1\.2 $/,
      )
      for (const name of ['issuer-ca.pem', 'issuer.pem']) {
        expect(details(name, '-ext issuerAltName')).toContain('URI:https://issuer.example\n')
        expect(details(name, '-ext crlDistributionPoints')).toContain('URI:https://issuer.example/issuer-ca.crl\n')
        const key = new X509Certificate(readFileSync(join(cwd, 'conf', name))).publicKey.export({ format: 'jwk' })
        const point = `04${[key.x, key.y].map((part) => Buffer.from(part ?? '', 'base64url').toString('hex')).join('')}`
        const identifier = createHash('sha1').update(Buffer.from(point, 'hex')).digest('hex').toUpperCase()
        expect(details(name, '-ext subjectKeyIdentifier').replaceAll(':', '')).toContain(identifier)
      }
      const words = ['-crl_check', '-CRLfile', 'conf/issuer-ca.crl', '-CAfile', 'conf/issuer-ca.pem']
      expect(String(execFileSync('openssl', ['verify', ...words, 'conf/issuer.pem'], { cwd }))).toMatch(/: OK$/m)
      const list = String(execFileSync('openssl', ['crl', '-in', 'conf/issuer-ca.crl', '-noout', '-text'], { cwd }))
      for (const part of [
        'Version 2 (0x1)',
        'No Revoked Certificates',
        'X509v3 Authority Key Identifier',
        'CRL Number',
      ]) {
        expect(list).toContain(part)
      }
      expect(list).not.toContain('critical')
      const read = readIssuerConfig(settingsIn(cwd), filesIn(cwd), new Date())
      if ('mistakes' in read) throw new Error(read.mistakes.join())
      expect(read.config.revocationList?.parts[0]?.[0]).toBe(0x30)
      const { notBefore, notAfter } = read.config.keys.signing.chain[0]
      expect(notAfter.getTime() - notBefore.getTime()).toBe(457 * 86_400_000)
      expect(stdout).toContain('conf/issuer-ca.pem    the CA of that certificate, for verifiers to trust;\n')
      expect(stdout.includes('cp conf/issuer-ca.pem VERIFIER-DIR/conf/trust-anchors/')).toBe(profile.length === 0)
      expect(stdout.includes('-d \'{"format": "mso_mdoc", "doctype": "org.iso.18013.5.1.mDL"}')).toBe(!profile.length)
    },
  )

  it('says that another address needs other certificates for mobile documents, which name it', async () => {
    const { stdout } = await vouchsafe(['init', 'issuer', '--country', 'DE'], { cwd: temporaryDirectory() })
    const prose = stdout.split('\n').filter((line) => !/vouchsafe.cjs|Bearer/.test(line))
    expect(prose.filter((line) => line.length > 80)).toEqual([])
    expect(stdout).toMatch(/network,\nmake files that have .*,\nsince the certificates name it:\n/)
    expect(stdout).not.toContain('take out host')
  })

  it('writes a verifier by HAIP with a CA for tests, and no provider of wallets', async () => {
    const cwd = temporaryDirectory()
    const { status, stdout } = await vouchsafe(['init', 'verifier', '--profile', 'haip'], { cwd })
    expect(status).toBe(0)
    const written = ['server.json', 'verifier-ca.pem', 'verifier.key', 'verifier.pem'].map((name) => `conf/${name}`)
    expect([...filesBelow(cwd)].sort()).toEqual(written)
    copyFileSync(join(cwd, 'conf/verifier-ca.pem'), join(cwd, 'conf/trust-anchors/issuer.pem'))
    expect(readVerifierConfig(settingsIn(cwd), filesIn(cwd), new Date())).toMatchObject({
      config: { profile: 'haip' },
      warnings: [],
    })
    expect(stdout).toContain('conf/verifier-ca.pem  the CA of that certificate, for wallets to trust;\n')
    expect(stdout).toContain('Trust an issuer')
    expect(stdout).not.toContain('wallet-providers')
  })

  it('names the issuer in its certificate, which is valid now and for two years', async () => {
    const cwd = temporaryDirectory()
    await writeFirstFiles(['issuer', '--dir', join(cwd, 'a'), '--base-url', 'https://issuer.example'])
    const read = readIssuerConfig(settingsIn(join(cwd, 'a')), filesIn(join(cwd, 'a')), new Date())
    if ('mistakes' in read) throw new Error(read.mistakes.join())
    const [leaf] = read.config.keys.signing.chain
    expect(identifierProblem(leaf, read.config.issuer.id)).toBe(undefined)
    expect([leaf.uris, leaf.dnsNames]).toEqual([['https://issuer.example'], ['issuer.example']])
    const days = (leaf.notAfter.getTime() - Date.now()) / 86_400_000
    expect(days).toBeGreaterThan(729)
    expect(days).toBeLessThan(731)
    expect(read.config.port).toBe(8079)
  })

  it('names no address of a container for a phone, but says whose is wanted', async () => {
    vi.stubEnv('KUBERNETES_SERVICE_HOST', '10.96.0.1')
    try {
      const text = await writeFirstFiles(['issuer', '--dir', temporaryDirectory()])
      expect(text).toMatch(/put\nthe address of the machine that runs this container into baseUrl/)
      expect(text).toContain('--base-url http://ADDRESS:8079')
    } finally {
      vi.unstubAllEnvs()
    }
  })

  describe('in an image', () => {
    /** Returns the text of `init` in an image, with the variables of the image. */
    const textOf = async (...words: readonly string[]): Promise<string> => {
      const { argv } = process
      vi.stubEnv('KUBERNETES_SERVICE_HOST', '10.96.0.1')
      vi.stubEnv('VOUCHSAFE_HOST', '0.0.0.0')
      process.argv = ['node', '/opt/vouchsafe/dist/vouchsafe.cjs']
      try {
        return await writeFirstFiles([...words])
      } finally {
        process.argv = argv
        vi.unstubAllEnvs()
      }
    }

    it.each(['issuer', 'verifier', 'engine'])('sends to other containers with the files of an %s', async (service) => {
      const dir = temporaryDirectory()
      const text = await textOf(service, '--dir', dir)
      expect(text).toContain(`Written into ${dir} of this container:`)
      expect(text).toContain(`in containers of this image that have the new conf
     at /srv/vouchsafe/conf and a volume at /srv/vouchsafe/data, as in
     docs/how-to/containers.md:

       vouchsafe doctor ${service}
       vouchsafe ${service}
`)
      expect(text).toContain('127.0.0.1: this container alone; without it, all may ask')
      expect(text).toContain('Set by environment variables, which override server.json: VOUCHSAFE_HOST.')
      expect(text).not.toContain(`cd ${dir}`)
    })

    it.each(['issuer', 'verifier'])('copies the certificate by the directories of the host: %s', async (service) => {
      const text = await textOf(service, '--dir', temporaryDirectory())
      expect(text).toContain('\n       cp ISSUER-DIR/conf/issuer.pem VERIFIER-DIR/conf/trust-anchors/\n')
    })

    it('has the test provider of HAIP in the directory of the host', async () => {
      const text = await textOf('issuer', '--profile', 'haip', '--dir', temporaryDirectory())
      expect(text).toContain('\n       cd ISSUER-DIR\n       vouchsafe wallet attest test-provider\n')
    })

    it('says of a directory that cannot be written which one can be named', async () => {
      await expect(textOf('issuer', '--dir', '/proc/x')).rejects.toThrow(
        /\/proc\/x: it cannot be made \(\w+\); mount a folder that this user may write, and name it with --dir$/,
      )
    })
  })

  it('makes the directory of components that the variable of the image names', async () => {
    const cwd = temporaryDirectory()
    const env = { VOUCHSAFE_COMPONENT_DIRECTORY: 'data/components' }
    const { stdout } = await vouchsafe(['init', 'engine'], { cwd, env })
    expect(readdirSync(cwd).sort()).toEqual(['conf', 'data'])
    expect(readdirSync(join(cwd, 'data'))).toEqual(['components'])
    expect(stdout).toContain('\n  data/components/      empty: components go here, each named by its SHA-256\n')
    const absolute = { VOUCHSAFE_COMPONENT_DIRECTORY: join(cwd, 'elsewhere') }
    const other = await vouchsafe(['init', 'engine', '--dir', 'other'], { cwd, env: absolute })
    expect(readdirSync(join(cwd, 'other'))).toEqual(['conf'])
    expect(other.stdout).not.toContain('components go here')
    expect(other.stdout).toMatch(
      /Set by environment variables, which override\s+server\.json:\s+VOUCHSAFE_COMPONENT_DIRECTORY\./,
    )
  })

  it('makes no directory of components where a file names it, as the engine reads that file', async () => {
    const cwd = temporaryDirectory()
    const env = { VOUCHSAFE_COMPONENT_DIRECTORY: 'elsewhere', VOUCHSAFE_COMPONENT_DIRECTORY_FILE: 'directory.txt' }
    const { stdout } = await vouchsafe(['init', 'engine'], { cwd, env })
    expect(readdirSync(cwd)).toEqual(['conf'])
    expect(stdout).not.toContain('components go here')
  })

  it('writes a verifier with a place for trust anchors, at the port of its address', async () => {
    const cwd = temporaryDirectory()
    const args = ['init', 'verifier', '--dir', 'v', '--base-url', 'http://127.0.0.1:9999']
    expect(await vouchsafe(args, { cwd })).toMatchObject({ status: 0 })
    expect(readdirSync(join(cwd, 'v/conf/trust-anchors'))).toEqual([])
    const read = () => readVerifierConfig(settingsIn(join(cwd, 'v')), filesIn(join(cwd, 'v')), new Date())
    expect(read()).toEqual({ mistakes: [expect.stringMatching(/^issuerTrustAnchors: there is no certificate in/)] })
    copyFileSync(join(cwd, 'v/conf/verifier.pem'), join(cwd, 'v/conf/trust-anchors/issuer.pem'))
    expect(read()).toMatchObject({ config: { port: 9999 }, warnings: [expect.stringMatching(/self-signed/)] })
  })

  it.each([
    ['http://localhost:8079', '127.0.0.1'],
    ['http://issuer.localhost:8079', '127.0.0.1'],
    ['http://127.0.0.2:8079', '127.0.0.2'],
    ['http://[::1]:8079', '::1'],
    ['https://localhost', '127.0.0.1'],
    ['http://192.168.1.7:8079', undefined],
    ['https://issuer.example', undefined],
  ])('listens for %s on %s, and on every interface where that is undefined', async (baseUrl, host) => {
    const cwd = temporaryDirectory()
    for (const service of ['issuer', 'verifier', 'engine']) {
      const stdout = await writeFirstFiles([service, '--dir', join(cwd, service), '--base-url', baseUrl])
      expect((settingsIn(join(cwd, service)) as { host?: string }).host).toBe(host)
      if (host !== undefined) expect(stdout).toContain(`  host                  ${host}: this machine alone`)
      else if (service !== 'engine') expect(stdout).toContain('host (every interface)')
    }
  })

  it.each([
    ['issuer', IssuerSettings],
    ['verifier', VerifierSettings],
    ['engine', EngineSettings],
  ] as const)('names every setting that the files do not have: %s', async (service, { properties }) => {
    const cwd = temporaryDirectory()
    const stdout = await writeFirstFiles([service, '--dir', cwd])
    const [, others = ''] = /Left at their defaults: (.+?)\. What each means: /.exec(stdout.replaceAll('\n', ' ')) ?? []
    const names = others.replaceAll(/ \([^)]*\)/g, '').split(', ')
    expect([...names, ...Object.keys(settingsIn(cwd) as object)].toSorted()).toEqual(Object.keys(properties).toSorted())
  })

  it('makes another key each time', async () => {
    const cwd = temporaryDirectory()
    for (const dir of ['a', 'b']) await writeFirstFiles(['issuer', '--dir', join(cwd, dir)])
    for (const file of ['conf/issuer.key', 'conf/issuer.secrets', 'conf/server.json']) {
      expect(readFileSync(join(cwd, 'a', file))).not.toEqual(readFileSync(join(cwd, 'b', file)))
    }
  })

  it.each(['conf/server.json', 'conf/issuer.key', 'conf/issuer.pem', 'conf/issuer.secrets'])(
    'writes nothing when %s is there',
    async (file) => {
      const cwd = temporaryDirectory()
      mkdirSync(join(cwd, 'conf'))
      writeFileSync(join(cwd, file), 'mine')
      const { status, stdout, stderr } = await vouchsafe(['init', 'issuer'], { cwd })
      expect([status, stdout]).toEqual([2, ''])
      expect(stderr).toContain(file)
      expect(stderr).toContain('init issuer --dir issuer')
      expect(filesBelow(cwd)).toEqual([file])
      expect(readFileSync(join(cwd, file), 'utf8')).toBe('mine')
    },
  )

  it.each([
    [['init', 'engines'], 'There is no init engines. Did you mean init engine?'],
    [['init', 'issuer', '--base-url', 'https://issuer.example/'], '--base-url: it must have no path'],
    [['init', 'issuer', '--base-url', 'issuer.example'], '--base-url: it'],
    [['init', 'issuer', '--directory', 'x'], "'--directory'"],
    [['init', 'issuer', '--country', 'de'], '--country de: say a country by its two capital letters, such as DE'],
    [['init', 'verifier', '--country', 'DE'], '--country is for init issuer'],
    [['init', 'engine', '--profile', 'haip'], '--profile is for init issuer, init verifier'],
    [['init', 'issuer', '--profile', 'eudi'], '--profile'],
  ])('refuses %j', async (args, why) => {
    const cwd = temporaryDirectory()
    const { status, stderr } = await vouchsafe(args, { cwd })
    expect(status).toBe(2)
    expect(stderr).toContain(why)
    expect(filesBelow(cwd)).toEqual([])
  })
})

describe('the examples in conf/', () => {
  const now = new Date()
  const read = { issuer: readIssuerConfig, verifier: readVerifierConfig }
  it.each(['issuer', 'verifier'] as const)('are those that init writes, but for the key: %s', async (service) => {
    const cwd = temporaryDirectory()
    await writeFirstFiles([service, '--dir', cwd, '--base-url', `https://${service}.example`])
    const text = readFileSync(join(import.meta.dirname, `../../conf/${service}.json`), 'utf8')
    expect(read[service](JSON.parse(text), filesIn(cwd), now)).toEqual({
      mistakes: [
        expect.stringContaining('the key labelled first application cannot be sent in a header'),
        ...(service === 'verifier' ? [expect.stringMatching(/^issuerTrustAnchors: /) as string] : []),
      ],
    })
    const [apiKey = ''] = /[0-9a-f]{64}/.exec(readFileSync(join(cwd, 'conf/server.json'), 'utf8')) ?? []
    expect(JSON.parse(text.replace('<64 random characters>', apiKey))).toEqual(settingsIn(cwd))
  })
})

describe('vouchsafe COMMAND --help', () => {
  it.each(commandNames)('explains %s', (command) => {
    expect(helpOf(command)).toMatch(new RegExp(`\\n {2}vouchsafe ${command} `))
  })

  it('is also what an unknown option ends with; --version is the version', async () => {
    const { status, stderr } = await vouchsafe(['issuer', '--confg', 'x'])
    expect(status).toBe(2)
    expect(stderr).toMatch(
      /^Unknown option '--confg'; did you mean --config\?\n\nUsage:\n {2}vouchsafe issuer \[OPTIONS\]\n\nOptions and examples: \S+ \S+ issuer --help\n$/,
    )
    const help = await vouchsafe(['help', 'demo'])
    expect([help.status, help.stdout, help.stderr]).toEqual([0, helpOf('demo'), ''])
    expect(help.stdout).toMatch(/--part credential\|secret [\s\S]*--port-base PORT/)
    expect(help.stdout).toBe((await vouchsafe(['demo', '--help'])).stdout)
    const text = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')
    const { version } = JSON.parse(text) as { version: string }
    expect((await vouchsafe(['--version'])).stdout).toBe(`${version}\n`)
  })
})

describe('the command line that is shown', () => {
  it('is the name of the command, with npx where a project has it, or the file in a clone; and paths survive a shell', () => {
    const inImage = '/opt/vouchsafe/dist/vouchsafe.cjs'
    const names = [
      '/usr/bin/vouchsafe',
      inImage,
      '/srv/a/node_modules/.bin/vouchsafe',
      '/clone/dist/vouchsafe.cjs',
    ].map((file) => {
      vi.stubGlobal('process', { ...process, argv: ['node', file] })
      return commandName()
    })
    vi.unstubAllGlobals()
    expect(names).toEqual(['vouchsafe', 'vouchsafe', 'npx vouchsafe', 'node /clone/dist/vouchsafe.cjs'])
    expect(shellWord('/tmp/a-b_1.c')).toBe('/tmp/a-b_1.c')
    expect(shellWord("/tmp/my dir/it's")).toBe("'/tmp/my dir/it'\\''s'")
  })
})
