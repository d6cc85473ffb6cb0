import { defineConfig } from 'vitest/config'

// vitest groups failures with Map.groupBy, which Node 20 does not have; without it a failing test reads as a crash.
Map.groupBy ??= (items, keyOf) => {
  const groups = new Map()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    isolate: false,
    testTimeout: 20_000,
    reporters: [['default', { summary: false }]],
  },
})
