/**
 * The curve of Ed25519 keys alone. It is imported late, and a page that so imports the library itself loads the rest of
 * it too.
 */
export { ed25519 } from '@noble/curves/ed25519.js'
