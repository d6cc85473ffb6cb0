/** Values that grow: what stands in the place of a short one, described by plain data that a search can change. */
import { hash } from 'node:crypto'
import { isObject, type Json, type JsonObject } from '../../src/codec/json.ts'
import { pick, type Random } from './mutate.ts'

export interface Growth {
  /** The name of a place in the request; its target knows where that is. */
  readonly place: string
  readonly shape: keyof typeof shapes
  readonly fill: keyof typeof fills
  /** The number of characters, elements or members, by the shape. */
  readonly size: number
  /** The beginning of a text. */
  readonly prefix: string
  /** Tells whether the value stands behind what the place holds already, so that the request stays credible. */
  readonly isAdded?: boolean
}

/** A piece of a text; `at` counts the pieces. */
const fills = {
  letter: () => 'a',
  zero: () => '0',
  nine: () => '9',
  dot: () => '.',
  label: () => 'a.',
  blank: () => ' ',
  tab: () => '\t',
  newline: () => '\n',
  nul: () => '\0',
  quote: () => '"',
  backslash: () => '\\',
  slash: () => '/',
  percent: () => '%',
  encoded: () => '%41',
  plus: () => '+',
  ampersand: () => '&',
  pair: (at: number) => `&${at}=`,
  equals: () => '=',
  tilde: () => '~',
  dash: () => '-',
  comma: () => ',',
  item: () => 'a, ',
  semicolon: () => ';q=0.1,',
  colon: () => ':',
  star: () => '*.',
  bracket: () => '[',
  brace: () => '{"a":',
  umlaut: () => 'ü',
  invisible: () => '\u200b',
  mark: () => '\u0301',
  ligature: () => '\ufdfa',
  half: () => '\ud800',
  emoji: () => '😀',
  han: (at: number) => String.fromCodePoint(0x4e00 + (at % 20_000)),
  hangul: (at: number) => String.fromCodePoint(0xac00 + (at % 11_000)),
  astral: (at: number) => String.fromCodePoint(0x20000 + (at % 40_000)),
  punycode: () => 'xn--a.',
  counted: (at: number) => `${at} `,
} satisfies Readonly<Record<string, (at: number) => string>>

type Piece = (at: number) => string

/**
 * The mark around JSON that JSON.stringify cannot write: it stands in a text until {@link writeGrown} puts it into its
 * place.
 */
const RAW = '@raw@'
const raw = (json: string): Json => `${RAW}${json}${RAW}`
const times = <T>(size: number, make: (at: number) => T): T[] => Array.from({ length: size }, (_, at) => make(at))
const textOf = (size: number, piece: Piece): string => times(size, piece).join('')
const objectOf = (size: number, piece: Piece, value: (at: number) => Json): JsonObject =>
  Object.fromEntries(times(size, (at) => [`${piece(at)}${at}`, value(at)]))

const shapes = {
  text: (size: number, piece: Piece, prefix: string) => prefix + textOf(size, piece),
  same: (size: number, piece: Piece, prefix: string) => times(size, () => prefix + piece(0)),
  list: (size: number, piece: Piece, prefix: string) => times(size, (at) => `${prefix}${piece(at)}${at}`),
  known: (size: number, _: Piece, prefix: string) => times(size, () => prefix),
  members: (size: number, piece: Piece, prefix: string) => objectOf(size, piece, () => prefix),
  objects: (size: number, piece: Piece, prefix: string) =>
    times(size, (at) => ({ id: prefix + piece(at), type: prefix })),
  grid: (size: number, piece: Piece) => times(Math.sqrt(size), () => times(Math.sqrt(size), piece)),
  deep: (size: number, piece: Piece) =>
    times(Math.min(size, 60), (at) => at).reduce<Json>((inner, at) => (at % 2 ? [inner] : { [piece(at)]: inner }), 1),
  comb: (size: number, piece: Piece) =>
    times(size / 25, () => times(24, (at) => at).reduce<Json>((inner) => [inner], piece(0))),
  tree: (size: number) => tree(Math.min(14, Math.log2(size + 1))),
  numbers: (size: number) => times(size, (at) => at + 0.5),
  digits: (size: number) => raw('1'.repeat(size)),
  fraction: (size: number) => raw(`0.${'0'.repeat(size)}1`),
  exponent: (size: number) => raw(`1e${'0'.repeat(size)}1`),
  exponents: (size: number) => raw(`[${times(size, () => '1E-300').join()}]`),
  escapes: (size: number) => raw(`"${'\\u200b'.repeat(size)}"`),
  halves: (size: number) => raw(`"${'\\ud800'.repeat(size)}"`),
  doubled: (size: number) => raw(`{${times(size, () => '"a":1').join()}}`),
  named: (size: number) => raw(`{${times(size, (at) => `"\\u0061${at}":1`).join()}}`),
  blanks: (size: number) => raw(`${' '.repeat(size)}1`),
  keys: (size: number) => times(size, ed25519Key),
  empty: (size: number, piece: Piece) => times(size, (at) => (piece(at) > 'Z' ? {} : [])),
} satisfies Readonly<Record<string, (size: number, piece: Piece, prefix: string) => Json>>

const PREFIXES = [
  ...[
    '',
    '',
    '',
    'https://',
    'https://a.example/',
    'https://*.',
    'did:jwk:',
    'did:key:z',
    'data:,',
    'urn:',
    'eyJ',
    '%',
  ],
  ...['https://www.w3.org/ns/credentials/v2', 'https://www.w3.org/2018/credentials/v1', 'VerifiableCredential'],
  ...['2026-01-01T00:00:00.', 'BitstringStatusListEntry', 'StudentCard', 'u', 'http://[', 'W/"', 'gzip', 'Bearer '],
]
/** Places without whose right value a request is refused before the others are looked at. */
const FATAL =
  /(\.alg|\.typ|\.crit|_sd_alg|^whole|^text\..*|^jwe\..*|form\.state|form\.error|members\.(state|vp_token)|vp_token\.(it|other)|^response\..*|^bytes\..*|header\.x5c)$/
/** Characters beyond ASCII, which more of the code looks at. */
const UNICODE = ['invisible', 'mark', 'han', 'astral', 'emoji'] as const
/** Places that do something else for each shape. */
const OF_SHAPES = /^(x5c|chain|disclosures)$/
const LISTS = ['list', 'same', 'known', 'members', 'objects'] as const
const SIZES = [1, 9, 20, 100, 1000, 4000, 20_000]
/** The distance in the list of places at which two are near each other. */
const NEAR = 4
/** A number of pieces that is always too many: as many as fit are made. */
const ALL = 1_000_000
/** The bytes of a piece in the JSON of a shape, beside the piece and its prefix. */
const AROUND: Readonly<Record<string, number>> = {
  ...{ text: 0, list: 8, same: 3, known: 3, members: 13, objects: 25, numbers: 7, grid: 3, comb: 3, tree: 3 },
  ...{ digits: 1, fraction: 1, exponent: 1, exponents: 7, escapes: 6, halves: 6, doubled: 6, named: 16, keys: 90 },
}

/** Makes a growth of one of the places, of up to so many bytes: a text, one of the usual lists, or any shape. */
export function randomGrowth(random: Random, places: readonly string[], bytes: number): Growth {
  const place = placeIn(random, places)
  const any = pick(random, Object.keys(shapes) as Growth['shape'][])
  const growth = {
    place,
    shape: OF_SHAPES.test(place) ? any : pick(random, ['text' as const, pick(random, LISTS), any]),
    fill: random(3) === 0 ? pick(random, UNICODE) : pick(random, Object.keys(fills) as Growth['fill'][]),
    size: random(3) === 0 ? pick(random, SIZES) : ALL,
    prefix: ['', '', 'https://', pick(random, PREFIXES)][random(4)] ?? '',
    isAdded: random(4) > 0,
  } as const
  return fitGrowth(growth, random(3) === 0 ? bytes / 8 : bytes)
}

/** Chooses a place; seldom one in which whatever has grown is refused at once. */
function placeIn(random: Random, places: readonly string[]): string {
  const place = pick(random, places)
  return FATAL.test(place) && random(8) > 0 ? placeIn(random, places) : place
}

/** Chooses a place near another one in the list, because what belongs together stands together there. */
export function placeNear(random: Random, places: readonly string[], place: string): string {
  const at = places.indexOf(place) + random(2 * NEAR + 1) - NEAR
  return places[Math.min(Math.max(at, 0), places.length - 1)] ?? place
}

/** Makes another growth that differs in one thing. */
export function changedGrowth(random: Random, growth: Growth, places: readonly string[]): Growth {
  const other = randomGrowth(random, places, ALL)
  const at = random(9)
  if (at === 0) return { ...growth, place: random(2) === 0 ? other.place : placeNear(random, places, growth.place) }
  if (at === 1) return { ...growth, shape: other.shape }
  if (at === 2) return { ...growth, fill: other.fill }
  if (at === 3) return { ...growth, prefix: other.prefix }
  if (at === 4) return { ...growth, size: ALL }
  if (at === 5) return { ...growth, isAdded: growth.isAdded !== true }
  return { ...growth, size: Math.max(1, Math.round(growth.size * pick(random, [0.5, 0.8, 1.25, 2, 4]))) }
}

/** Returns the growth with no more pieces than take so many bytes. */
export function fitGrowth(growth: Growth, bytes: number): Growth {
  const { shape, fill, size, prefix } = growth
  const piece = Buffer.byteLength(JSON.stringify(fills[fill](20))) - 2 + (shape === 'text' ? 0 : prefix.length)
  const each = shape in AROUND && /^(text|list|same|members|objects|known|comb|grid)$/.test(shape) ? piece : 0
  return { ...growth, size: Math.max(1, Math.min(size, Math.floor(bytes / (each + (AROUND[shape] ?? 3) || 1)))) }
}

export function grownValue({ shape, fill, size, prefix }: Growth): Json {
  return shapes[shape](size, fills[fill], prefix)
}

/** Returns the value as a text: itself, or its JSON. */
export function grownText(growth: Growth): string {
  const value = grownValue(growth)
  return typeof value === 'string' && !value.startsWith(RAW) ? value : writeGrown(value)
}

/** Returns the value as a text that can stand in a header or a path. */
export function grownHeader(growth: Growth, most = 12_000): string {
  return grownText(fitGrowth(growth, 2 * most))
    .replace(/[^\t -~\u0080-\u00ff]/g, '_')
    .slice(0, most)
}

/** Writes the JSON of a value in which grown ones stand. */
export function writeGrown(value: Json): string {
  return JSON.stringify(value).replace(/"@raw@(.*?)@raw@"/gs, (_, json: string) => JSON.parse(`"${json}"`) as string)
}

/** Returns the value of a place that held `old`: what has grown alone, or behind `old`, or copies of `old`. */
export function grownFrom(old: Json | undefined, growth: Growth): Json {
  const value = grownValue(growth)
  if (growth.isAdded !== true || old === undefined) return value
  if (growth.shape === 'known') return copiesOf(old, growth.size)
  if (typeof old === 'string' && typeof value === 'string' && !value.startsWith(RAW)) return old + value
  if (Array.isArray(old)) return [...old, ...(Array.isArray(value) ? value : [value])]
  return isObject(old) && isObject(value) ? { ...old, ...value } : value
}

/** Repeats the elements of an array, or the value itself, in about three bytes for each of `size`. */
function copiesOf(value: Json, size: number): Json[] {
  const elements = Array.isArray(value) && value.length > 0 ? value : [value]
  const count = Math.ceil((3 * size) / (JSON.stringify(elements).length / elements.length))
  return times(Math.max(count, elements.length), (at) => elements[at % elements.length] ?? null)
}

/** Copies `value` with what stands at a path such as `vc.type` grown; members that are missing on the way are made. */
function grownAt(value: Json | undefined, path: readonly string[], growth: Growth): Json {
  const [name, ...rest] = path
  if (name === undefined) return grownFrom(value, growth)
  if (Array.isArray(value)) {
    const index = Number(name) || 0
    return value.map((element, at) => (at === index ? grownAt(element, rest, growth) : element))
  }
  const object = isObject(value) ? value : {}
  return { ...object, [name]: grownAt(object[name], rest, growth) }
}

/** Copies `value` with what has grown in the places that begin with `root`, a dot, and a path. */
export function grown(value: Json, root: string, growths: readonly Growth[]): Json {
  return growths
    .filter(({ place }) => place.startsWith(`${root}.`))
    .reduce<Json>((whole, growth) => grownAt(whole, growth.place.split('.').slice(1), growth), value)
}

/** Makes a public key on Ed25519 for about every second number. */
function ed25519Key(at: number): Json {
  return { kty: 'OKP', crv: 'Ed25519', x: hash('sha256', String(at), 'base64url') }
}

function tree(depth: number): Json {
  return depth < 1 ? 1 : [tree(depth - 1), tree(depth - 1)]
}
