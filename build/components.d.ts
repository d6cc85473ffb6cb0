/** The module of a component. Throws what the compiler says. */
export function compileAssembly(name: string): Uint8Array
