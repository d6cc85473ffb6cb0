/** `vouchsafe completion`: prints a script for shell completion, made from the table of commands. */
import { readWords, UsageError } from '../terminal/command-line.ts'
import { bashScript } from './bash.ts'
import { fishScript } from './fish.ts'
import { zshScript } from './zsh.ts'

const scripts: Readonly<Record<string, () => string>> = { bash: bashScript, zsh: zshScript, fish: fishScript }

/** Runs `vouchsafe completion` with the words after it. */
export function runCompletion(args: string[]): Promise<void> {
  const [shell = '', ...more] = readWords('completion', args).positionals
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined
  if (script === undefined || more.length > 0) {
    const words = [shell, ...more].join(' ')
    throw new UsageError('completion', words && `There is no completion for ${words}; say bash, zsh or fish`)
  }
  process.stdout.write(script())
  return Promise.resolve()
}
