/** The curve of Ed25519 keys, in a module that is loaded late: of a whole library a page would load all of it. */
export { ed25519 } from '@noble/curves/ed25519.js'
