/** The script of a component, as `vouchsafe component build` makes it. */
export function bundleComponent(name: string): Promise<Uint8Array>
/** The module of a component. Throws what the compiler says. */
export function compileAssembly(name: string): Uint8Array
/** `<name>.js` of each, and `<name>.wasm` where the compiler is installed, into a directory. */
export function buildComponents(directory: string): Promise<void>
