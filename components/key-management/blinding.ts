/**
 * @noble/curves tries once, while it is loaded, whether there is randomness to blind its scalars with; and no engine
 * gives any before
 * a hook runs. So that try is answered here, with zeros that it throws away, and everything after it by the engine. To
 * be imported first.
 */
let loading = true

const { crypto } = globalThis
const fromEngine = crypto.getRandomValues.bind(crypto)
Object.defineProperty(crypto, 'getRandomValues', {
  value: <T extends Uint8Array<ArrayBuffer>>(array: T): T => (loading ? array : fromEngine(array)),
})

/** Ends the time of loading; from here on there is an engine. */
export function loaded(): void {
  loading = false
}
