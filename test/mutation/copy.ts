/** A copy of the sources to mutate, so that nothing is ever wrong in the place where somebody works. */
import { cpSync, existsSync, mkdtempSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

/** Folders with packages of their own. */
const PACKAGES = ['.', 'build', 'test/interop', 'test/contracts', 'test/browser']
const LEFT_OUT = ['node_modules', '.git', 'dist', 'data', 'coverage', 'try']

export function copyOf(root: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'vouchsafe-mutation-'))
  cpSync(root, copy, { recursive: true, filter: (file) => file === root || !LEFT_OUT.includes(basename(file)) })
  for (const folder of PACKAGES) {
    const installed = join(root, folder, 'node_modules')
    if (existsSync(installed)) symlinkSync(installed, join(copy, folder, 'node_modules'))
  }
  return copy
}
