/**
 * Builds the command anew for a run of the tests where a source is newer than `dist/`, so that no test starts an old
 * one.
 */
import { buildCommand } from './command.ts'
import { takeCompiledCode } from './compiled.ts'

export async function setup(): Promise<void> {
  // Each process would read the authorities that the machine adds, for twice its own start; no test asks anybody
  // outside.
  delete process.env.NODE_EXTRA_CA_CERTS
  buildCommand()
  await takeCompiledCode()
}
