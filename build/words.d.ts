interface Fault {
  readonly rule: 'comments' | 'verbs' | 'width' | 'locals' | 'functions' | 'exports'
  readonly line: number
  readonly text: string
}

/** Returns the faults of one text, without those of its exports. */
export function faultsOf(path: string, text: string): readonly Fault[]
/** Returns the exported names that several of the texts declare, by path. */
export function homonymsOf(texts: ReadonlyMap<string, string>): readonly (Fault & { readonly path: string })[]
