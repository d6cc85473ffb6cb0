/**
 * `npm run test:others`: Vouchsafe with implementations of other parties, its contracts on a Hardhat node, the
 * largest numbers of keys, and the longer forms of the searches.
 */
import { defineConfig } from 'vitest/config'
import { LongFirst, OTHERS, shared, WORKERS } from './vitest.config.js'

/** The multiple of the random inputs that `npm test` tries; with 1 the searches are those of `npm test`, and left out. */
const seeds = process.env.VOUCHSAFE_TEST_SEEDS ?? '4'
const SEARCHES = [
  'src/{codec/{base64url,cbor,der,exact-json},component/{module,result},credential/{readers,mso-mdoc/contract}}.test.ts',
  'src/{issuer/credential-endpoint/key-attestation,keys/certificate,protocol/dcql*}.test.ts',
]

export default defineConfig({
  test: {
    ...shared,
    name: 'others',
    maxWorkers: WORKERS,
    sequence: { sequencer: LongFirst },
    reporters: [['default', { summary: false }]],
    globalSetup: ['test/support/others-setup.js', 'test/support/command-setup.ts', 'test/support/component-setup.js'],
    // What else runs on chains runs on the local one by `npm test`, and on a Hardhat node here.
    env: {
      VOUCHSAFE_TEST_CHAIN: 'hardhat',
      VOUCHSAFE_TEST_MANY: process.env.VOUCHSAFE_TEST_MANY ?? '10000',
      VOUCHSAFE_TEST_SEEDS: seeds,
    },
    include: [...OTHERS, 'components/**/*.test.ts', ...(seeds === '1' ? [] : SEARCHES)],
    // Neither of these uses a Hardhat node or more keys, so that `npm test` runs the same.
    exclude: ['**/node_modules/**', 'components/key-management/key-management.test.ts', 'components/abi.test.ts'],
  },
})
