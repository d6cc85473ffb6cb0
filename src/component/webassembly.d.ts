/**
 * The types of WebAssembly that are used here. TypeScript has them in its library for browsers, which this package does
 * not use.
 */
declare namespace WebAssembly {
  type Exports = Record<string, unknown>
  type Imports = Record<string, Record<string, (...args: never[]) => unknown>>
  interface Module {
    readonly __module?: never
  }
  interface Instance {
    readonly exports: Exports
  }
  const Instance: new (module: Module, imports: Imports) => Instance
  interface Memory {
    readonly buffer: ArrayBuffer
    /** Grows the memory, and returns its previous size in pages. Throws a RangeError when it cannot grow. */
    grow(pages: number): number
  }
  interface Global<Value = number> {
    value: Value
  }
  interface Table {
    readonly length: number
    get(index: number): unknown
    set(index: number, value: unknown): void
  }
  function compile(bytes: Uint8Array): Promise<Module>
}
