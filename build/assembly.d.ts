/** The module of a component that is written in AssemblyScript. Throws what the compiler says. */
export function compileAssembly(name: string): Uint8Array
