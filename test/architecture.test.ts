/** The direction of imports: who may know whom. ARCHITECTURE.md draws this table; here it is enforced. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const SRC = join(ROOT, 'src')

/** Each folder of src/, then what stands beside it, and the folders each may import from beside itself. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  codec: [],
  async: [],
  thread: [],
  protocol: ['codec'],
  keys: ['async', 'codec'],
  credential: ['keys', 'protocol', 'codec'],
  store: ['thread', 'async', 'codec'],
  audit: ['store', 'keys', 'codec'],
  callback: ['http', 'config', 'store', 'async', 'codec'],
  event: ['audit', 'callback', 'config', 'store', 'keys', 'async', 'codec'],
  operator: ['event', 'audit', 'callback', 'http', 'store', 'keys', 'protocol', 'async', 'codec'],
  config: ['keys', 'protocol', 'codec'],
  http: ['store', 'protocol', 'async', 'codec'],
  progress: ['http', 'store', 'protocol', 'codec'],
  telemetry: ['http', 'config', 'store', 'async', 'codec'],
  'openid-connect': ['http', 'protocol', 'async', 'codec'],
  check: ['http', 'credential', 'keys', 'protocol', 'async', 'codec'],
  wallet: ['credential', 'keys', 'protocol', 'codec'],
  offchain: ['async', 'codec'],
  chain: ['offchain', 'async', 'codec'],
  component: ['offchain', 'async', 'codec'],
  toolchain: ['component', 'offchain', 'codec'],
  engine: ['component', 'chain', 'offchain', 'http', 'config', 'store', 'keys', 'protocol', 'async', 'codec'],
  issuer: [
    'operator',
    'progress',
    'openid-connect',
    'check',
    'http',
    'config',
    'credential',
    'event',
    'callback',
    'store',
    'keys',
    'protocol',
    'async',
    'codec',
  ],
  verifier: [
    'operator',
    'progress',
    'check',
    'http',
    'config',
    'credential',
    'event',
    'callback',
    'store',
    'keys',
    'protocol',
    'async',
    'codec',
  ],
  bin: [
    'issuer',
    'verifier',
    'wallet',
    'engine',
    'component',
    'toolchain',
    'openid-connect',
    'check',
    'chain',
    'offchain',
    'http',
    'config',
    'credential',
    'event',
    'audit',
    'callback',
    'store',
    'telemetry',
    'thread',
    'async',
    'keys',
    'protocol',
    'codec',
    'sdk/client',
    'components/artifacts',
  ],
  'sdk/client': ['chain', 'offchain', 'async', 'codec', 'components', 'components/key-management'],
  'sdk/server': ['codec'],
  'sdk/element': [],
  'sdk/component': ['offchain', 'codec'],
  'sdk/component-test': ['toolchain', 'component', 'offchain', 'async', 'codec'],
  'components/artifacts': [],
  components: [],
  'components/hello': ['components'],
  'components/key-management': ['components'],
  'components/secret-sharing': ['components'],
}

/** Folders whose own files and folders stand one above the other. */
const DOWNWARDS = ['issuer']

/** The folders beside src/, each folder of which has a row. */
const BESIDE = ['sdk', 'components']
/** The tests of components, which may use what they like. */
const NOT_HELD = /^components\/test(\/|$)/

/** Parts of Node that reach outside the process, and the only files that may have them. */
const OUTSIDE = /^node:(fs|child_process|http|https|os|dgram|tls|process|readline)(\/|$)/
const OUTSIDE_ALLOWED = /^(bin|toolchain)\//

/** The modules of the issuer that translate between the final form and those of older drafts. */
const DRAFT_MODULES = ['issuer/credential-endpoint/older-drafts.ts']
/** The edge of the issuer: its routes and its metadata, which alone may import these modules. */
const DRAFT_EDGE = [...DRAFT_MODULES, 'issuer/(token|credential)-endpoint/routes.ts', 'issuer/metadata.ts']
/** Files that may name drafts besides: schemas of routes, forms of the metadata, settings, and a hint for operators. */
const DRAFT_NAMES = [
  'issuer/document-routes.ts',
  'issuer/credential-endpoint/(schemas|proofs).ts',
  'issuer/configuration-metadata(-text)?.ts',
  'issuer/(config|haip).ts',
]

/** Packages, and the only folders that may know them. */
const PACKAGES: Record<string, readonly string[]> = {
  fastify: ['http', 'telemetry', 'operator', 'issuer', 'verifier', 'engine'],
  '@fastify/swagger': ['http'],
  ajv: ['http', 'config', 'protocol'],
  typebox: ['config', 'protocol', 'http', 'operator', 'progress', 'issuer', 'verifier', 'engine'],
  pg: ['store'],
  pino: ['bin', 'check', 'http', 'issuer', 'verifier', 'event', 'callback', 'engine'],
  qr: ['bin', 'sdk/element'],
  '@scure/base': ['keys'],
  '@noble/curves': ['keys', 'offchain', 'chain', 'sdk/client', 'components/key-management'],
  '@noble/hashes': ['offchain', 'chain', 'sdk/client', 'components/key-management', 'components/secret-sharing'],
  '@noble/ciphers': ['components/key-management'],
  'shamir-secret-sharing': ['sdk/client'],
  '@bitauth/libauth': ['offchain'],
  'micro-eth-signer': ['chain', 'offchain'],
  '@ethereumjs/evm': ['chain'],
  '@ethereumjs/common': ['chain'],
  '@ethereumjs/util': ['chain'],
  'quickjs-wasi': ['component'],
  'prom-client': ['engine', 'http', 'bin'],
  cborg: ['codec'],
  jose: ['keys'],
  '@hpke/core': ['keys'],
  'openid-client': ['openid-connect'],
  pkcs11js: ['keys'],
  '@photostructure/sqlite': ['store'],
  // All that a component has of this one, by the name that authors use: sdk/component.
  vouchsafe: ['components/hello', 'components/key-management', 'components/secret-sharing'],
  // The compiled contracts.
  json: ['components/artifacts'],
}

/**
 * Files that decode what they wrote themselves or this service publishes, what belongs to this machine's user, what a
 * component said for its log, or what a page's own server says to it.
 */
const OWN_TEXTS =
  /^(codec\/(json|der)|store\/.*|engine\/app|issuer\/signed-metadata|component\/.*|bin\/(demo|doctor|secret|chain)\/.*|bin\/service\/config-file|telemetry\/telemetry|sdk\/(component|element).*|components\/.*)\.ts$/

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

/** The path of a file as the table has it: from src/, or from the root where it stands beside src/. */
const placeOf = (path: string): string => relative(ROOT, path).replace(/^src\//, '')

const files = ['src', ...BESIDE]
  .flatMap((folder) => filesBelow(join(ROOT, folder)))
  .filter((path) => path.endsWith('.ts') && !/\.(test|contract)\.ts$/.test(path) && !NOT_HELD.test(placeOf(path)))
const imports: Import[] = files.flatMap((path) => {
  const text = readFileSync(path, 'utf8')
  const statements = text.matchAll(/^(?:import|export)( type)? [^'"=(]*? from '([^']+)'|\bimport\('([^']+)'\)/gm)
  return [...statements].map(([, type, stated = '', called = '']) => {
    const specifier = stated || called
    const to = specifier.startsWith('.') ? placeOf(join(dirname(path), specifier)) : specifier
    return { typeOnly: type !== undefined, from: placeOf(path), to }
  })
})
const folderOf = (path: string): string => {
  const [first = '', second = ''] = path.split('/')
  return BESIDE.includes(first) && !second.includes('.') ? `${first}/${second}` : first
}
const isOwn = ({ to }: Pick<Import, 'to'>): boolean => Object.hasOwn(MAY_IMPORT, folderOf(to)) && to.endsWith('.ts')
const packageOf = (to: string): string => {
  if (to.endsWith('.json')) return 'json'
  return to
    .split('/')
    .slice(0, to.startsWith('@') ? 2 : 1)
    .join('/')
}

/** Returns the circles among the edges, each as the nodes that one passes until the first comes again. */
function circlesOf(edges: readonly Pick<Import, 'from' | 'to'>[]): readonly (readonly string[])[] {
  const next = new Map<string, string[]>()
  for (const { from, to } of edges) next.set(from, [...(next.get(from) ?? []), to])
  const done = new Set<string>()
  const circles: string[][] = []
  const visit = (node: string, path: readonly string[]): void => {
    if (path.includes(node)) circles.push([...path.slice(path.indexOf(node)), node])
    if (done.has(node) || path.includes(node)) return
    for (const to of next.get(node) ?? []) visit(to, [...path, node])
    done.add(node)
  }
  for (const node of next.keys()) visit(node, [])
  return circles
}

const DOCUMENT = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8')

describe('architecture', () => {
  it('links the file of each step of a walk by the end of its path', () => {
    const links = [...DOCUMENT.matchAll(/\[([^\]]+\.(?:ts|js))\]\(([^)#]+)\)/g)]
    expect(links.length).toBeGreaterThan(200)
    const wrong = links.filter(([, text = '', path = '']) => {
      return !existsSync(join(ROOT, path)) || !`/${path}`.endsWith(`/${text}`)
    })
    expect(wrong.map(([link]) => link)).toEqual([])
    const [walks = ''] = (DOCUMENT.split('\n## Where a request goes\n')[1] ?? '').split('\n## ')
    expect(walks.length).toBeGreaterThan(10_000)
    expect(walks.match(/`[\w./-]+\.(?:ts|js)`/g)).toBeNull()
  })

  it('is in files that are where ARCHITECTURE.md names them', () => {
    const paragraphs = DOCUMENT.split(/\n\n|\n(?=\|)/)
    const paths = ['build', 'components', 'console', 'sdk', 'src', 'test'].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: folder !== 'test', encoding: 'utf8' }).map(
        (path) => `/${folder}/${path}`,
      ),
    )
    const named = (text: string): string[] =>
      [...text.matchAll(/`([\w./-]+\.(?:ts|js|html|sol))`/g)].map(([, name = '']) => name)
    // A name alone is in a folder that its row or its paragraph names, or in that of a service.
    const foldersOf = (text: string): string[] => {
      const [row = ''] = /^\| `[^|]*(?=\|)/.exec(text) ?? []
      const places = [...(row || text).matchAll(/(?:`|\]\()([\w-]+\/[\w./-]*)[`)]/g)].map(([, place = '']) => place)
      const folders = places.flatMap((place) =>
        paths
          .map((path) => `${path}/`)
          .filter((path) => path.includes(`/${place}`))
          .map((path) =>
            place.endsWith('/')
              ? `${path.split(`/${place}`)[0]}/${place}`
              : `${path.split('/').slice(0, 3).join('/')}/`,
          ),
      )
      return row === '' && folders.length > 0 ? [...folders, '/src/issuer/', '/src/verifier/'] : folders
    }
    const isThere = (name: string, folders: readonly string[]): boolean =>
      paths
        .filter((path) => path.endsWith(`/${name}`))
        .some((path) => name.includes('/') || folders.length === 0 || folders.some((each) => path.startsWith(each)))
    const wrong = paragraphs.flatMap((text) => {
      const folders = [...new Set(foldersOf(text))]
      return named(text).filter((name) => !isThere(name, folders))
    })
    expect(paragraphs.flatMap(named).length).toBeGreaterThan(20)
    expect(wrong).toEqual([])
  })

  it('has a row for every folder', () => {
    const folders = [...readdirSync(SRC), ...files.map(placeOf).map(folderOf)]
    expect([...new Set(folders)].sort()).toEqual(Object.keys(MAY_IMPORT).sort())
    expect(imports.length).toBeGreaterThan(100)
  })

  it('imports only in the direction of the table', () => {
    const wrong = imports.filter(isOwn).filter(({ from, to }) => {
      const [here, there] = [folderOf(from), folderOf(to)]
      return here !== there && !MAY_IMPORT[here]?.includes(there)
    })
    expect(wrong).toEqual([])
  })

  it('reaches outside the process only from bin/ and toolchain/', () => {
    expect(
      imports.filter(({ typeOnly, from, to }) => !typeOnly && OUTSIDE.test(to) && !OUTSIDE_ALLOWED.test(from)),
    ).toEqual([])
    const clocks = files.filter((path) => {
      const code = readFileSync(path, 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
      // Applications and components call their own `fetch`, which they were given, by that name.
      const fetches = placeOf(path).startsWith('sdk/') ? false : /[^.]\bfetch\(/.test(code)
      return fetches || /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(/.test(code)
    })
    // An application that receives callbacks compares their time with its own clock, and a page has one of its own.
    const own = ['sdk/server/callback.ts', 'sdk/element/watch-status.ts']
    expect(clocks.map(placeOf).filter((path) => !OUTSIDE_ALLOWED.test(path) && !own.includes(path))).toEqual([])
  })

  it('decodes what came from outside strictly: UTF-8 by utf8Text, JSON by parseJson', () => {
    const lenient = /\.toString\('utf-?8'\)|new TextDecoder\((?!'utf-8', \{ fatal: true)|\bJSON\.parse\(/
    const found = files.filter((path) => lenient.test(readFileSync(path, 'utf8'))).map(placeOf)
    expect(found.filter((path) => !OWN_TEXTS.test(path))).toEqual([])
  })

  it('refuses in one way: a ProtocolError is made by refuse(), and where HTTP makes answers of errors', () => {
    const makers = files.filter((path) => /\bnew ProtocolError\(/.test(readFileSync(path, 'utf8'))).map(placeOf)
    expect(makers.filter((path) => !/^(http\/|protocol\/error\.ts$)/.test(path))).toEqual([])
    expect(makers).toContain('protocol/error.ts')
  })

  it('knows each package only where the table says', () => {
    const wrong = imports.filter(({ from, to }) => {
      return !to.startsWith('node:') && !isOwn({ to }) && !PACKAGES[packageOf(to)]?.includes(folderOf(from))
    })
    expect(wrong).toEqual([])
  })

  it('exports private keys in the file signer alone', () => {
    const exporting = files.filter((path) => /\.export\(\{[^}]*'(pkcs8|sec1|jwk)'/.test(readFileSync(path, 'utf8')))
    // The JWK of a public key is for everybody.
    expect(exporting.map(placeOf).sort()).toEqual(['keys/file-signer.ts', 'keys/jwk.ts'])
  })

  it('knows of older drafts only at the edge of the issuer', () => {
    const isAt = (places: readonly string[], path: string) =>
      places.some((place) => new RegExp(`^${place}$`).test(path))
    const importing = imports.filter(({ to }) => DRAFT_MODULES.includes(to)).map(({ from }) => from)
    expect(importing).toContain('issuer/credential-endpoint/routes.ts')
    expect(importing.filter((path) => !isAt(DRAFT_EDGE, path))).toEqual([])
    const naming = files.filter((path) => {
      const code = readFileSync(path, 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*|^import .*|'[^'\n]*\.ts'/gm, '')
      return placeOf(path).startsWith('issuer/') && /draft/i.test(code)
    })
    expect(naming.map(placeOf).filter((path) => !isAt([...DRAFT_EDGE, ...DRAFT_NAMES], path))).toEqual([])
  })

  it('has no circle of files', () => {
    expect(circlesOf(imports)).toEqual([])
  })

  it.each(DOWNWARDS)('imports downwards only within %s/: its files and folders know none that know them', (folder) => {
    const partOf = (path: string): string => path.split('/').slice(0, 2).join('/')
    const within = imports.filter(({ from, to }) => folderOf(from) === folder && folderOf(to) === folder)
    const between = within.map(({ from, to }) => ({ from: partOf(from), to: partOf(to) }))
    expect(between.length).toBeGreaterThan(20)
    expect(circlesOf(between.filter(({ from, to }) => from !== to))).toEqual([])
  })
})
