/** What is made of something that seldom changes. */

/** Gives what `make` made of `source()`, and has it made anew when that is another object. */
export function derived<A, B>(source: () => A, make: (value: A) => B): () => B {
  let known: { readonly from: A; readonly made: B } | undefined
  return () => {
    const from = source()
    if (known?.from !== from) known = { from, made: make(from) }
    return known.made
  }
}
