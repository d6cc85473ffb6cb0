/**
 * Reads the outline of a WebAssembly module (imports, exports, memory, tables), and limits the size of its memory and
 * tables. The JavaScript API of WebAssembly neither reveals the limits of a module's memory nor changes them, hence
 * this reader.
 */
import { createModuleReader, type ModuleReader, refuseModule, writeU32 } from './module-reader.ts'

export interface FunctionType {
  /**
   * The types, one letter each: `i` i32, `I` i64, `f` f32, `F` f64, and `x` for any other type. No import and no hook
   * has a type `x`.
   */
  readonly parameters: string
  readonly results: string
}

export interface SizeLimits {
  readonly initial: number
  readonly maximum: number | undefined
}

/** The types to which instructions refer by index. */
export interface FunctionTypes {
  readonly types: readonly FunctionType[]
  /** The types of all functions: first the imported ones, then the module's own. */
  readonly functionTypes: readonly FunctionType[]
}

export interface ModuleOutline extends FunctionTypes {
  readonly imports: readonly { readonly module: string; readonly name: string; readonly type: FunctionType }[]
  /** The types of the exported functions by name, including imported functions that are exported again. */
  readonly exportedFunctions: ReadonlyMap<string, FunctionType>
  /** The name under which the memory is exported. */
  readonly memoryName: string | undefined
  readonly memory: SizeLimits
  readonly tables: readonly SizeLimits[]
  readonly sections: readonly Section[]
}

interface Export {
  readonly name: string
  readonly kind: number
  readonly index: number
}

interface Section {
  readonly id: number
  /** The offset of the section's content, without its header. */
  readonly start: number
  readonly end: number
}

export const PAGE_BYTES = 65_536

/** The id of the code section, which has the bodies of functions. */
export const CODE = 10

const CUSTOM = 0
const TYPE = 1
const IMPORT = 2
const FUNCTION = 3
const TABLE = 4
const MEMORY = 5
const EXPORT = 7
/** The ids of sections in the order that the specification requires. Other sections are not of core WebAssembly. */
const SECTION_ORDER = [TYPE, IMPORT, FUNCTION, TABLE, MEMORY, 6, EXPORT, 8, 9, 12, CODE, 11]
const VALUE_TYPES: Readonly<Record<number, string>> = { 127: 'i', 126: 'I', 125: 'f', 124: 'F' }
const REFERENCES = [0x70, 0x6f]
const MAX_TABLES = 16
/** The most parameters of a function, and the most results. */
const MAX_PARAMETERS = 100
const MAX_TYPES = 10_000

/**
 * Reads the outline of a module. Throws a ComponentError when the module is malformed, has no memory of its own, or
 * uses more than core WebAssembly with one memory.
 */
export function readModule(bytes: Uint8Array): ModuleOutline {
  const sections = readSections(bytes)
  const openSection = (id: number, what: string): ModuleReader | undefined => {
    const section = sections.find((section) => section.id === id)
    return section && createModuleReader(bytes, section.start, section.end, what)
  }
  const types = readItems(openSection(TYPE, 'its types'), readFunctionType, MAX_TYPES)
  const imports = readItems(openSection(IMPORT, 'its imports'), (from) => readImport(from, types))
  const ownFunctions = readItems(openSection(FUNCTION, 'its functions'), (from) => typeAt(types, from.u32()))
  const tables = readItems(openSection(TABLE, 'its tables'), readTableLimits)
  const memories = readItems(openSection(MEMORY, 'its memories'), readLimits)
  const exports = readItems(openSection(EXPORT, 'its exports'), readExport)
  const [memory, ...otherMemories] = memories
  if (memory === undefined) return refuseModule('The module has no memory of its own.')
  if (otherMemories.length > 0) refuseModule('The module has more than one memory.')
  if (tables.length > MAX_TABLES) refuseModule(`The module has more than ${MAX_TABLES} tables.`)
  const functionTypes = [...imports.map(({ type }) => type), ...ownFunctions]
  const exportedFunctions = new Map(
    exports.filter(({ kind }) => kind === 0).map(({ name, index }) => [name, typeAt(functionTypes, index)]),
  )
  const memoryName = exports.find(({ kind }) => kind === 2)?.name
  return { imports, types, functionTypes, exportedFunctions, memoryName, memory, tables, sections }
}

/**
 * Returns the module with the maximum of its memory lowered to `pages`, and the maximum of each table to `elements`. A
 * lower maximum of the module stays.
 */
export function boundModule(bytes: Uint8Array, outline: ModuleOutline, pages: number, elements: number): Uint8Array {
  const parts: Uint8Array[] = [bytes.subarray(0, 8)]
  for (const { id, start, end } of outline.sections) {
    const content =
      id === MEMORY
        ? Uint8Array.from([1, ...boundLimits(outline.memory, pages)])
        : id === TABLE
          ? boundTableSection(bytes.subarray(start, end), outline.tables, elements)
          : bytes.subarray(start, end)
    parts.push(Uint8Array.from([id, ...writeU32(content.length)]), content)
  }
  return Buffer.concat(parts)
}

function boundLimits({ initial, maximum }: SizeLimits, most: number): number[] {
  return [1, ...writeU32(initial), ...writeU32(Math.max(initial, Math.min(maximum ?? most, most)))]
}

function boundTableSection(content: Uint8Array, tables: readonly SizeLimits[], elements: number): Uint8Array {
  const from = createModuleReader(content, 0, content.length, 'its tables')
  const kinds = from.vector(() => {
    const kind = from.byte()
    readLimits(from)
    return kind
  })
  const entries = tables.flatMap((table, index) => [kinds[index] ?? 0x70, ...boundLimits(table, elements)])
  return Uint8Array.from([...writeU32(tables.length), ...entries])
}

function readSections(bytes: Uint8Array): Section[] {
  const from = createModuleReader(bytes, 0, bytes.length, 'it')
  if (bytes.length < 8 || Buffer.compare(bytes.subarray(0, 8), HEADER) !== 0) {
    refuseModule('This is not a WebAssembly module of version 1.')
  }
  from.skip(8)
  const sections: Section[] = []
  let last = -1
  while (!from.atEnd()) {
    const id = from.byte()
    const length = from.u32()
    const start = from.at()
    from.skip(length)
    if (id === CUSTOM) continue
    const place = SECTION_ORDER.indexOf(id)
    if (place < 0) refuseModule(`The module has a section of kind ${id}, which is not of core WebAssembly.`)
    if (place <= last) refuseModule(`The module is broken: its section of kind ${id} is not in its place.`)
    last = place
    sections.push({ id, start, end: start + length })
  }
  return sections
}

const HEADER = Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])

/** Reads the items of a section. Throws a ComponentError when bytes follow the last item. */
function readItems<T>(from: ModuleReader | undefined, read: (from: ModuleReader) => T, most?: number): T[] {
  if (from === undefined) return []
  const items = from.vector(() => read(from), most)
  if (!from.atEnd()) refuseModule('The module is broken: a section is longer than what is in it.')
  return items
}

function readFunctionType(from: ModuleReader): FunctionType {
  if (from.byte() !== 0x60) refuseModule('The module has a type that is not of core WebAssembly.')
  const readValueTypes = (): string => from.vector(() => VALUE_TYPES[from.byte()] ?? 'x', MAX_PARAMETERS).join('')
  return { parameters: readValueTypes(), results: readValueTypes() }
}

/** Reads the type of a block: empty, one result, or the index of a type. */
export function readBlockType(from: ModuleReader, types: readonly FunctionType[]): FunctionType {
  const start = from.at()
  const code = from.u32()
  // The index of a type is a signed LEB128, which takes two bytes from 64 on.
  if (code < 0x40 || from.at() > start + 1) return typeAt(types, code)
  return code === 0x40 ? EMPTY : { parameters: '', results: VALUE_TYPES[code] ?? 'x' }
}

const EMPTY: FunctionType = { parameters: '', results: '' }

/** Returns the type at an index. Throws a ComponentError when the module has none there. */
export function typeAt(types: readonly FunctionType[], index: number): FunctionType {
  return types[index] ?? refuseModule('The module is broken: it names a type or a function that is not there.')
}

function readImport(from: ModuleReader, types: readonly FunctionType[]): ModuleOutline['imports'][number] {
  const [module, name] = [from.name(), from.name()]
  if (from.byte() !== 0) refuseModule(`The module imports ${quoteImport(module, name)}, which is not a function.`)
  return { module, name, type: typeAt(types, from.u32()) }
}

/** Returns the name of an import for error messages. */
export function quoteImport(module: string, name: string): string {
  return `"${module.slice(0, 60)}"."${name.slice(0, 60)}"`
}

function readLimits(from: ModuleReader): SizeLimits {
  const flags = from.byte()
  if (flags > 1) refuseModule('The module has a memory or a table that is shared, or has addresses of 64 bits.')
  const initial = from.u32()
  return { initial, maximum: flags === 1 ? from.u32() : undefined }
}

function readTableLimits(from: ModuleReader): SizeLimits {
  if (!REFERENCES.includes(from.byte())) refuseModule('The module has a table that is not of core WebAssembly.')
  return readLimits(from)
}

function readExport(from: ModuleReader): Export {
  return { name: from.name(), kind: from.byte(), index: from.u32() }
}
