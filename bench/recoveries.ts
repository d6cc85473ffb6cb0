/** The figure by which machines are told apart: how many keys one core recovers a second, in JavaScript. */
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { recoverInJavaScript } from '../src/offchain/authentication/recover.ts'
import { percentile } from './report.ts'

const ROUNDS = 5
const IN_A_ROUND = 100

export function recoveriesPerSecond(): number {
  const digest = new Uint8Array(32).fill(1)
  const signatureBytes = secp256k1.sign(digest, secp256k1.utils.randomSecretKey(), {
    prehash: false,
    format: 'recovered',
  })
  const signature = { compact: signatureBytes.subarray(1), recovery: signatureBytes[0] === 1 ? 1 : 0 } as const
  const round = (): number => {
    const begin = performance.now()
    for (let count = 0; count < IN_A_ROUND; count++) recoverInJavaScript(digest, signature)
    return (1000 * IN_A_ROUND) / (performance.now() - begin)
  }
  // Rounds run until the code is compiled.
  round()
  return percentile(Array.from({ length: ROUNDS }, round), 50)
}
