/** `npm run test:others`: what Vouchsafe does with implementations of other parties, and its contracts on a Hardhat node. */
import { defineConfig } from 'vitest/config'
import { OTHERS, shared } from './vitest.config.js'

export default defineConfig({
  test: {
    ...shared,
    name: 'others',
    maxWorkers: 2,
    reporters: [['default', { summary: false }]],
    globalSetup: ['test/support/others-setup.js', 'test/support/command-setup.ts', 'test/support/component-setup.js'],
    // What else runs on chains runs on the local one by `npm test`, and on a Hardhat node here.
    env: { VOUCHSAFE_TEST_CHAIN: 'hardhat' },
    include: [
      ...OTHERS.map((folder) => `${folder}/*.test.ts`),
      'components/**/*.test.ts',
      'test/e2e/engine-components.test.ts',
    ],
    exclude: ['**/node_modules/**'],
  },
})
