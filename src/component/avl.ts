/**
 * The maps that compiled contracts of the Partisia chain import as `pbc.avl_*`: new and empty in each call, and gone
 * after it. UNVERIFIED: made from what the public contract SDK declares, and tried with no compiled contract that has
 * an off-chain hook. Maps that are part of the contract's state are not here; to ask for one traps with a sentence
 * that says so.
 */
import type { CollectedEffects } from './effects.ts'
import { trap } from './trap.ts'

export interface Memory {
  /** Copies bytes of the memory. Traps where they are not all inside. */
  readonly read: (pointer: number, length: number) => Uint8Array
  readonly write: (pointer: number, bytes: Uint8Array) => void
}

interface Entry {
  readonly key: Uint8Array
  readonly value: Uint8Array
}

type Tree = Map<string, Entry>

/** The answer of `*_size` where there is nothing. */
const NONE = 0xffff_ffff

export function createAvlMaps(
  memory: Memory,
  effects: CollectedEffects,
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
 * Makes the functions that walk from key to key, in the order of their bytes. Each answer is a key followed by its
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
