/** The direction of imports: who may know whom. ARCHITECTURE.md draws this table; here it is enforced. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const SRC = join(import.meta.dirname, '..', 'src')

/** Each folder of src/, and the folders it may import from beside itself. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  codec: [],
  memory: [],
  protocol: ['codec'],
  keys: ['memory', 'codec'],
  credential: ['keys', 'protocol', 'codec'],
  store: ['codec'],
  audit: ['store', 'keys', 'codec'],
  callback: ['http', 'config', 'store', 'codec'],
  event: ['audit', 'callback', 'config', 'store', 'keys', 'codec'],
  config: ['keys', 'protocol', 'codec'],
  http: ['store', 'protocol', 'memory', 'codec'],
  wallet: ['credential', 'keys', 'protocol', 'codec'],
  offchain: ['codec'],
  chain: ['offchain', 'http', 'memory', 'codec'],
  component: ['offchain', 'codec'],
  engine: ['component', 'chain', 'offchain', 'http', 'config', 'event', 'store', 'keys', 'protocol', 'memory', 'codec'],
  issuer: ['http', 'config', 'credential', 'event', 'callback', 'store', 'keys', 'protocol', 'memory', 'codec'],
  verifier: ['http', 'config', 'credential', 'event', 'callback', 'store', 'keys', 'protocol', 'memory', 'codec'],
  bin: [
    'issuer',
    'verifier',
    'wallet',
    'engine',
    'component',
    'chain',
    'offchain',
    'http',
    'config',
    'credential',
    'event',
    'audit',
    'callback',
    'store',
    'keys',
    'protocol',
    'codec',
  ],
}

/** Parts of Node that reach outside the process, and the only files that may have them. */
const OUTSIDE = /^node:(fs|child_process|http|https|os|dgram|tls|process|readline)(\/|$)/
const OUTSIDE_ALLOWED = /^bin\//

/** Packages, and the only folders that may know them. */
const PACKAGES: Record<string, readonly string[]> = {
  fastify: ['http', 'issuer', 'engine'],
  '@fastify/swagger': ['http'],
  '@fastify/formbody': ['http'],
  '@fastify/type-provider-typebox': ['http'],
  ajv: ['http', 'config', 'protocol'],
  typebox: ['config', 'protocol', 'http', 'issuer', 'verifier', 'engine'],
  pg: ['store'],
  pino: ['bin', 'http', 'issuer', 'verifier', 'event', 'callback', 'engine'],
  qr: ['bin'],
  '@scure/base': ['keys'],
  '@noble/curves': ['offchain', 'chain'],
  '@noble/hashes': ['offchain', 'chain'],
  secp256k1: ['offchain'],
  'micro-eth-signer': ['chain', 'offchain'],
  '@ethereumjs/evm': ['chain'],
  '@ethereumjs/common': ['chain'],
  '@ethereumjs/statemanager': ['chain'],
  '@ethereumjs/util': ['chain'],
  'quickjs-wasi': ['component'],
  'prom-client': ['engine'],
  cborg: ['codec'],
  jose: ['keys'],
  '@photostructure/sqlite': ['store'],
  // What stands beside src/: the compiled contracts in components/artifacts/.
  '..': ['bin'],
}

interface Import {
  readonly typeOnly: boolean
  readonly from: string
  readonly to: string
}

function filesBelow(directory: string): string[] {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name)
    return statSync(path).isDirectory() ? filesBelow(path) : [path]
  })
}

const files = filesBelow(SRC).filter((path) => path.endsWith('.ts') && !/\.(test|contract)\.ts$/.test(path))
const imports: Import[] = files.flatMap((path) => {
  const text = readFileSync(path, 'utf8')
  const statements = text.matchAll(/^(?:import|export)( type)? [^'"=(]*? from '([^']+)'|\bimport\('([^']+)'\)/gm)
  return [...statements].map(([, type, stated = '', called = '']) => {
    const specifier = stated || called
    const to = specifier.startsWith('.') ? relative(SRC, join(dirname(path), specifier)) : specifier
    return { typeOnly: type !== undefined, from: relative(SRC, path), to }
  })
})
const folderOf = (path: string): string => path.split('/')[0] ?? ''
const isOwn = ({ to }: Pick<Import, 'to'>): boolean => Object.hasOwn(MAY_IMPORT, folderOf(to)) && to.endsWith('.ts')

describe('architecture', () => {
  it('has a row for every folder', () => {
    expect(readdirSync(SRC).sort()).toEqual(Object.keys(MAY_IMPORT).sort())
    expect(imports.length).toBeGreaterThan(100)
  })

  it('imports only in the direction of the table', () => {
    const wrong = imports.filter(isOwn).filter(({ from, to }) => {
      const [here, there] = [folderOf(from), folderOf(to)]
      return here !== there && !MAY_IMPORT[here]?.includes(there)
    })
    expect(wrong).toEqual([])
  })

  it('reaches outside the process only from bin/', () => {
    expect(
      imports.filter(({ typeOnly, from, to }) => !typeOnly && OUTSIDE.test(to) && !OUTSIDE_ALLOWED.test(from)),
    ).toEqual([])
    const clocks = files.filter((path) => {
      const code = readFileSync(path, 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
      return /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|[^.]\bfetch\(/.test(code)
    })
    expect(clocks.map((path) => relative(SRC, path)).filter((path) => !OUTSIDE_ALLOWED.test(path))).toEqual([])
  })

  it('knows each package only where the table says', () => {
    const wrong = imports.filter(({ from, to }) => {
      const name = to.startsWith('@') ? to.split('/').slice(0, 2).join('/') : folderOf(to)
      return !to.startsWith('node:') && !isOwn({ to }) && !PACKAGES[name]?.includes(folderOf(from))
    })
    expect(wrong).toEqual([])
  })

  it('has no circle of files', () => {
    const next = new Map<string, string[]>()
    for (const { from, to } of imports) next.set(from, [...(next.get(from) ?? []), to])
    const done = new Set<string>()
    const circles: string[][] = []
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file])
      if (done.has(file) || path.includes(file)) return
      for (const to of next.get(file) ?? []) visit(to, [...path, file])
      done.add(file)
    }
    for (const file of next.keys()) visit(file, [])
    expect(circles).toEqual([])
  })
})
