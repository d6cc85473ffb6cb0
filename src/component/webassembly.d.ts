/**
 * The part of WebAssembly that is used here: its types come with those of browsers, which this package does not have.
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
    /** Grows the memory, and returns how many pages it had before. Throws a RangeError. */
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
