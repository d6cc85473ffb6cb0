/**
 * The maps that compiled contracts of the Partisia chain import as `pbc.avl_*`. They are empty at the start of each
 * call, and discarded at its end. UNVERIFIED: written from the declarations of the public contract SDK, and not tried
 * with a compiled contract that has an off-chain hook. Maps in the state of the contract are not supported: access to
 * one traps.
 */
import type { EffectCollector } from './effects.ts'
import { trap } from './trap.ts'

export interface Memory {
  /** Copies bytes of the memory. Traps when they are not all inside the memory. */
  readonly read: (pointer: number, length: number) => Uint8Array
  readonly write: (pointer: number, bytes: Uint8Array) => void
}

interface Entry {
  readonly key: Uint8Array
  readonly value: Uint8Array
}

type Tree = Map<string, Entry>

/** The result of `*_size` when there is no entry. */
const NONE = 0xffff_ffff

/** Makes the functions `pbc.avl_*` of one call. The bytes of the maps count towards `limits.memoryBytes`. */
export function createAvlMaps(
  memory: Memory,
  effects: EffectCollector,
): Record<string, (...args: number[]) => unknown> {
  const trees: Tree[] = []
  const treeOf = (id: number): Tree =>
    trees[id] ?? trap(`the map ${id} is part of the contract's state, which this engine does not give to pbc.avl_*`)
  const readKey = (pointer: number, length: number): string =>
    Buffer.from(memory.read(pointer, length)).toString('latin1')
  const find = (tree: number, key: number, length: number): Uint8Array | undefined =>
    treeOf(tree).get(readKey(key, length))?.value
  return {
    avl_new: () => {
      effects.reserveBytes(0)
      return trees.push(new Map()) - 1
    },
    avl_len: (tree = 0) => treeOf(tree).size,
    avl_get_size: (tree = 0, key = 0, length = 0) => find(tree, key, length)?.length ?? NONE,
    avl_get: (tree = 0, key = 0, length = 0, to = 0) => {
      const value = find(tree, key, length)
      if (value !== undefined) memory.write(to, value)
      return value === undefined ? 0 : 1
    },
    avl_insert: (...[tree = 0, key = 0, keyLength = 0, value = 0, valueLength = 0]) => {
      const entry = { key: memory.read(key, keyLength), value: memory.read(value, valueLength) }
      effects.reserveBytes(keyLength + valueLength)
      treeOf(tree).set(readKey(key, keyLength), entry)
    },
    avl_remove: (tree = 0, key = 0, length = 0) => {
      treeOf(tree).delete(readKey(key, length))
    },
    ...makeWalkFunctions(memory, treeOf),
  }
}

/**
 * Makes the functions that iterate over a map in the order of the bytes of its keys. Each returns a key followed by its
 * value.
 */
function makeWalkFunctions(
  memory: Memory,
  treeOf: (id: number) => Tree,
): Record<string, (...args: number[]) => unknown> {
  const findNext = (tree: number, pointer: number, length: number): Entry | undefined => {
    const after = length >>> 0 === NONE ? undefined : memory.read(pointer, length)
    let best: Entry | undefined
    for (const entry of treeOf(tree).values()) {
      if (after !== undefined && Buffer.compare(entry.key, after) <= 0) continue
      if (best === undefined || Buffer.compare(entry.key, best.key) < 0) best = entry
    }
    return best
  }
  return {
    avl_get_next_size: (tree = 0, key = 0, length = 0) => {
      const next = findNext(tree, key, length)
      return next === undefined ? NONE : next.key.length + next.value.length
    },
    avl_get_next: (tree = 0, key = 0, length = 0, to = 0) => {
      const next = findNext(tree, key, length) ?? trap('pbc.avl_get_next: there is no next one')
      memory.write(to, Buffer.concat([next.key, next.value]))
    },
  }
}
