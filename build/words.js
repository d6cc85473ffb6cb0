// Holds the rules for words that a program can hold, as part of `npm run check`:
// - exports: no two exported symbols of src and sdk share a name, also where a re-export gives one a new name; the
//   fixed set of a credential format may repeat among the formats;
// - comments: no comment begins with a pronoun or another word that stands for a missing noun;
// - verbs: the doc comment of a function begins with a verb in the present tense, as in "Returns" or "Tests whether";
// - width: comment lines have at most 120 columns;
// - locals: no local or parameter is called after what was done to its value;
// - functions: no function is called after what was done to its result: a function is a verb;
// - types: no type is called after what was done to its value: a type is a noun;
// - negations: nothing says that a thing "is no" other thing: it "is not a" thing.
// All but the first hold in build, bench and test as well; in the files of tests, those of comments alone.
// `node build/words.js src/codec` looks at one folder.
import './node-version.cjs'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import ts from 'typescript'

const root = join(import.meta.dirname, '..')
const COLUMNS = 120
const BEGINNING =
  /^(It|Its|Their|Those|That|What|Which|Who|Whom|Whoever|Whatever|Of|One|As|Nobody|Somebody|They|These)(?![\w-])/
/** The form of a verb in the third person, and the words that have this form and are none. */
const VERB = /^[A-Z][a-z]*s(?![\w-])/
const NO_VERBS = new Set([
  ...['Addresses', 'Always', 'Bytes', 'Callers', 'Certificates', 'Characters', 'Credentials', 'Elements', 'Engines'],
  ...['Errors', 'Events', 'Findings', 'Gas', 'Headers', 'Ids', 'Keys', 'Less', 'Members', 'Milliseconds'],
  ...['Mistakes', 'News', 'Nonces', 'Others', 'Parts', 'Paths', 'Perhaps', 'Rows', 'Seconds', 'Sessions', 'Signatures'],
  ...['Sometimes', 'This', 'Thus', 'Times', 'Tokens', 'Transactions', 'Unless', 'Values', 'Verifiers', 'Wallets'],
  ...['Words', 'Yes'],
])
const LOCALS = new Set(['found', 'known', 'asked', 'said', 'given', 'made', 'shown', 'named', 'told', 'wanted'])
/** A name that is a participle alone, and those verbs that look like one. */
const PARTICIPLE =
  /^([a-z]+ed|found|shown|known|said|made|given|taken|hidden|broken|chosen|written|sent|built|kept|held)$/
const VERBS = new Set(['need', 'embed', 'seed', 'feed', 'exceed', 'malformed'])
/** Sources whose names are in the bytes of a component, which its contract names by their digest. */
const AS_BYTES = /^(components|sdk\/component|src\/offchain)\//
/** Words that say of a thing that it is no other thing; "there is no …" and "is no longer" are plain. */
const NEGATION =
  /(?<!\b[Tt]?here )\b(is|are) no (?!(longer|more|such|other|one|good|need|reason|doubt|better|worse|less|fewer|finer|later|older|newer|larger|quicker|faster)\b)[a-z]/
/** The files of tests, whose comments alone are held. */
const TESTS = /\.(test|contract)\.ts$/
const OF_COMMENTS = new Set(['comments', 'verbs', 'width'])
/** The members of a format, which each folder of src/credential exports under the same names. */
const OF_A_FORMAT = new Set([
  'IDS',
  'read',
  'issue',
  'readHeld',
  'present',
  'matchesOrder',
  'parseMembers',
  'findOwnQueryMistakes',
  'matchesMeta',
  'refuseInvalidDataset',
])

/** The public names that two packages have, by file: a component and its test import them from one package each. */
const PUBLIC = new Map([['sdk/component-test/index.ts', ['Storage']]])

/** Returns the comments of a source file: lines of `//` that follow one another are one comment. */
function commentsOf(source) {
  const { text } = source
  const ranges = new Map()
  const add = (each) => {
    for (const range of each ?? []) ranges.set(range.pos, range)
  }
  const visit = (node) => {
    add(ts.getLeadingCommentRanges(text, node.pos))
    add(ts.getTrailingCommentRanges(text, node.end))
    for (const child of node.getChildren(source)) if (!ts.isJSDoc(child)) visit(child)
  }
  visit(source)
  const comments = []
  for (const { pos, end } of [...ranges.values()].sort((a, b) => a.pos - b.pos)) {
    const last = comments.at(-1)
    const between = last === undefined ? 'none' : text.slice(last.end, pos)
    if (text.startsWith('//', pos) && last?.isLine && /^\n[ \t]*$/.test(between)) last.end = end
    else comments.push({ pos, end, isLine: text.startsWith('//', pos) })
  }
  return comments
}

/** Tests whether a name is a participle and nothing else. */
function isParticiple(name) {
  return PARTICIPLE.test(name) && !VERBS.has(name)
}

function isTypeDeclaration(node) {
  return ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isClassDeclaration(node)
}

function uncapitalize(name) {
  return name.charAt(0).toLowerCase() + name.slice(1)
}

/** Tests whether a comment begins with a verb in the present tense. */
function beginsWithVerb(words) {
  const [verb] = VERB.exec(words) ?? []
  return verb !== undefined && !NO_VERBS.has(verb)
}

/** Returns the words of a comment, without its marks at the beginning. */
function wordsOf(comment) {
  return comment.replace(/^(\/\*\*?|\/\/)[\s*]*/, '')
}

/** Returns the names that a variable, a parameter or a pattern binds. */
function boundNames(name) {
  if (ts.isIdentifier(name)) return [name]
  return name.elements.flatMap((element) => (ts.isOmittedExpression(element) ? [] : boundNames(element.name)))
}

/** Returns the faults of one text, without those of its exports: `{ rule, line, text }` each. */
export function faultsOf(path, text) {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const lineOf = (position) => source.getLineAndCharacterOfPosition(position).line
  const lines = text.split('\n')
  const faults = []
  const add = (rule, line) => faults.push({ rule, line: line + 1, text: lines[line].trim() })
  for (const { pos, end } of commentsOf(source)) {
    const words = wordsOf(text.slice(pos, end))
    if (BEGINNING.test(words)) add('comments', lineOf(end - words.length))
    for (let line = lineOf(pos); line <= lineOf(end); line++) if (lines[line].length > COLUMNS) add('width', line)
  }
  if (!AS_BYTES.test(path)) {
    for (const [line, each] of lines.entries()) if (NEGATION.test(each)) add('negations', line)
  }
  const visit = (node) => {
    if (ts.isVariableDeclaration(node) || (ts.isParameter(node) && node.parent.kind !== ts.SyntaxKind.FunctionType)) {
      for (const name of boundNames(node.name)) if (LOCALS.has(name.text)) add('locals', lineOf(name.getStart()))
    }
    if (isTypeDeclaration(node) && isParticiple(uncapitalize(node.name.text)) && !AS_BYTES.test(path)) {
      add('types', lineOf(node.name.getStart()))
    }
    if (ts.isFunctionDeclaration(node) && isParticiple(node.name?.text ?? '') && !AS_BYTES.test(path)) {
      add('functions', lineOf(node.name.getStart()))
    }
    const doc = ts.isFunctionDeclaration(node) ? node.jsDoc?.at(-1) : undefined
    const words = wordsOf(doc?.getText() ?? '')
    if (doc && !beginsWithVerb(words)) add('verbs', lineOf(doc.end - words.length))
    ts.forEachChild(node, visit)
  }
  visit(source)
  return faults
}

/** Returns the names that a text declares or renames and exports, each with its line; other re-exports are none. */
export function exportsOf(text) {
  const declarations = text.matchAll(
    /^export (?:declare )?(?:async )?(?:abstract )?(?:function\*?|const|let|interface|type|class) (\w+)/gm,
  )
  const lines = new Map()
  const add = (name, index) => lines.set(name, text.slice(0, index).split('\n').length)
  for (const { 1: name, index } of declarations) add(name, index)
  for (const { 0: list, index } of text.matchAll(/^export (?:type )?\{[^}]*\}/gm)) {
    for (const { 1: name, index: at } of list.matchAll(/\bas (\w+)/g)) add(name, index + at)
  }
  return lines
}

/** Returns the exported names that several of the texts declare: `{ rule, path, line, text }` for each place. */
export function homonymsOf(texts) {
  const places = new Map()
  for (const [path, text] of texts) {
    for (const [name, line] of exportsOf(text)) {
      if (PUBLIC.get(path)?.includes(name)) continue
      const earlier = places.get(name) ?? []
      const isOfFormat = (file) => OF_A_FORMAT.has(name) && file.startsWith('src/credential/')
      // The formats count as one place.
      if (isOfFormat(path) && earlier.some((each) => isOfFormat(each.path))) continue
      places.set(name, [...earlier, { path, line }])
    }
  }
  return [...places].flatMap(([name, all]) =>
    all.length === 1
      ? []
      : all.map(({ path, line }) => {
          const others = all.filter((other) => other.path !== path).map((other) => other.path)
          return { rule: 'exports', path, line, text: `${name} is also exported by ${others.join(', ')}` }
        }),
  )
}

/** Reads the texts of the sources below the folders, by path. */
function textsBelow(folders) {
  const paths = folders.flatMap((top) =>
    readdirSync(join(root, top), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(ts|js|cjs)$/.test(entry.name))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
      .filter((path) => !path.includes('/node_modules/')),
  )
  return new Map(paths.sort().map((path) => [path, readFileSync(join(root, path), 'utf8')]))
}

function allFaults() {
  const texts = textsBelow(['src', 'sdk', 'console', 'components', 'build', 'bench', 'test'])
  const each = [...texts].flatMap(([path, text]) =>
    faultsOf(path, text)
      .filter(({ rule }) => OF_COMMENTS.has(rule) || !TESTS.test(path))
      .map((fault) => ({ ...fault, path })),
  )
  const exported = new Map([...texts].filter(([path]) => /^(src|sdk|console)\//.test(path) && !TESTS.test(path)))
  return [...homonymsOf(exported), ...each]
}

function main([folder = '']) {
  const within = folder.replace(/\/?$/, '/')
  for (const { rule, path, line, text } of allFaults()) {
    if (folder !== '' && !path.startsWith(within)) continue
    process.stderr.write(`${path}:${line}: ${rule}: ${text}\n`)
    process.exitCode = 1
  }
}

if (process.argv[1] === import.meta.filename) main(process.argv.slice(2))
