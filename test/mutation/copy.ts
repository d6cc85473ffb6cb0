/** A copy of the sources to mutate, so that nothing is ever wrong in the place where somebody works. */
import { cpSync, mkdtempSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

const LEFT_OUT = ['node_modules', '.git', 'dist', 'data', 'coverage', 'try']

export function copyOf(root: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'vouchsafe-mutation-'))
  cpSync(root, copy, { recursive: true, filter: (file) => file === root || !LEFT_OUT.includes(basename(file)) })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  return copy
}
