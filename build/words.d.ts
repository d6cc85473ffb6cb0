interface Fault {
  readonly rule: 'comments' | 'width' | 'locals' | 'exports'
  readonly line: number
  readonly text: string
}
type Counts = Readonly<Record<string, Readonly<Record<string, number>>>>

/** The faults of one text, without those of its exports. */
export function faultsOf(path: string, text: string): readonly Fault[]
/** The exported names that several of the texts declare, by path. */
export function homonymsOf(texts: ReadonlyMap<string, string>): readonly (Fault & { readonly path: string })[]
/** How many faults of each rule each folder has. */
export function countsOf(faults: readonly { readonly path: string; readonly rule: string }[]): Counts
/** The folders and rules with more faults than `allowed`. */
export function excessOf(
  counts: Counts,
  allowed: Counts,
): readonly { readonly folder: string; readonly rule: string; readonly count: number; readonly allowed: number }[]
