declare module 'secp256k1/bindings.js' {
  const bindings: {
    readonly ecdsaRecover: (
      signature: Uint8Array,
      recovery: number,
      digest: Uint8Array,
      compressed: boolean,
    ) => Uint8Array
  }
  // biome-ignore lint/style/noDefaultExport: CommonJS
  export default bindings
}
