/**
 * What of a module's instance can be another after it has run. By the WebAssembly Core Specification ("Module Instances") that is its
 * memory, its globals, its tables, and which of its segments were dropped; types and functions never change. The compiler tells
 * nothing of what is not exported, so that globals and tables are, under names that no module may take.
 */
import type { ModuleOutline } from './module.ts'
import { type ModuleReader, moduleReader, writeU32 } from './module-reader.ts'

/** How many there are to be put back. */
export interface ModuleState {
  readonly globals: number
  readonly tables: number
}

/** Sections. */
const GLOBAL = 6
const EXPORT = 7
const ELEMENT = 9
const DATA = 11
/** What an export is. */
const TABLE_KIND = 1
const GLOBAL_KIND = 3
/** Of element segments alone: such a one is never anywhere. */
const DECLARATIVE = 3
const I32_CONST = 0x41
const END = 0x0b
const PREFIX = 'engine:'
/** To look at more than these would cost as much as a new instance. */
const MOST_GLOBALS = 64
const MOST_ELEMENTS = 64

export function globalName(index: number): string {
  return `${PREFIX}global${index}`
}

export function tableName(index: number): string {
  return `${PREFIX}table${index}`
}

/** Undefined where an instance cannot be made again what it was, or not cheaply. */
export function stateOf(bytes: Uint8Array, { sections, exports, tables }: ModuleOutline): ModuleState | undefined {
  const open = (id: number, what: string): ModuleReader | undefined => {
    const found = sections.find((section) => section.id === id)
    return found && moduleReader(bytes, found.start, found.end, what)
  }
  const globals = open(GLOBAL, 'its globals')?.u32() ?? 0
  const elements = tables.reduce((sum, { initial }) => sum + initial, 0)
  if (globals > MOST_GLOBALS || elements > MOST_ELEMENTS) return undefined
  if (exports.some(({ name }) => name.startsWith(PREFIX))) return undefined
  const skipBytes = (from: ModuleReader): void => from.skip(from.u32())
  const skipFunctions = (from: ModuleReader): void => void from.vector(from.u32)
  if (!areActive(open(DATA, 'its data'), skipBytes)) return undefined
  if (!areActive(open(ELEMENT, 'its elements'), skipFunctions)) return undefined
  return { globals, tables: tables.length }
}

/**
 * Whether all segments are written where they belong when an instance is made, and are dropped then: later there is nothing to drop.
 * Only those of the form that compilers write are said to be ("Data Section", "Element Section").
 */
function areActive(from: ModuleReader | undefined, skipContent: (from: ModuleReader) => void): boolean {
  if (from === undefined) return true
  for (let left = from.u32(); left > 0; left -= 1) {
    const mode = from.u32()
    if (mode === DECLARATIVE) from.byte()
    else {
      if (mode !== 0 || from.byte() !== I32_CONST) return false
      from.skipNumber()
      if (from.byte() !== END) return false
    }
    skipContent(from)
  }
  return true
}

/** The same module, which exports its state too. */
export function withStateExports(
  bytes: Uint8Array,
  { sections, exports }: ModuleOutline,
  state: ModuleState,
): Uint8Array {
  const names = [
    ...Array.from({ length: state.globals }, (_, index) => exportOf(globalName(index), GLOBAL_KIND, index)),
    ...Array.from({ length: state.tables }, (_, index) => exportOf(tableName(index), TABLE_KIND, index)),
  ]
  const parts: Uint8Array[] = [bytes.subarray(0, 8)]
  for (const { id, start, end } of sections) {
    const content = bytes.subarray(start, end)
    const written = id === EXPORT ? moreExports(content, exports.length, names) : content
    parts.push(Uint8Array.from([id, ...writeU32(written.length)]), written)
  }
  return Buffer.concat(parts)
}

function exportOf(name: string, kind: number, index: number): Uint8Array {
  return Uint8Array.from([...writeU32(name.length), ...Buffer.from(name), kind, ...writeU32(index)])
}

function moreExports(content: Uint8Array, count: number, more: readonly Uint8Array[]): Uint8Array {
  const from = moduleReader(content, 0, content.length, 'its exports')
  from.u32()
  return Buffer.concat([Uint8Array.from(writeU32(count + more.length)), content.subarray(from.at()), ...more])
}
