import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/setup/global.ts'],
    setupFiles: ['test/setup/each-file.ts'],
    reporters: ['default', './test/setup/reality-reporter.ts'],
    pool: 'forks',
    maxWorkers: 3,
    // A bound for what hangs, with room for a machine that does other work as well.
    testTimeout: 60_000,
    // The first hook that asks for a server may wait for its download.
    hookTimeout: 180_000,
    teardownTimeout: 30_000,
  },
})
