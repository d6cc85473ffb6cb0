/** The lists of test files in the settings of vitest: a pattern without a file would leave tests out unnoticed. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const files = ['src', 'test', 'components', 'sdk'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
)
const patterns = ['vitest.config.js', 'vitest.others.config.js'].flatMap((config) =>
  [...readFileSync(join(ROOT, config), 'utf8').matchAll(/'((?:src|test|components|sdk)\/[^']*\.test\.ts)'/g)].map(
    ([, pattern = '']) => pattern,
  ),
)

/** Returns the patterns that a pattern with braces stands for. */
function expandBraces(pattern: string): readonly string[] {
  const match = /\{([^{}]*)\}/.exec(pattern)
  if (match === null) return [pattern]
  const [braces, choices = ''] = match
  const [start, end] = [pattern.slice(0, match.index), pattern.slice(match.index + braces.length)]
  return choices.split(',').flatMap((choice) => expandBraces(start + choice + end))
}

/** Returns the regular expression of a pattern without braces. */
function regExpOf(pattern: string): RegExp {
  const text = pattern
    .replaceAll('.', '\\.')
    .replaceAll('**/', '(.*/)?')
    .replaceAll(/(?<!\.)\*/g, '[^/]*')
  return new RegExp(`^${text}$`)
}

it.each(patterns)('each choice of %s is a file', (pattern) => {
  const choices = [...new Set(expandBraces(pattern))]
  expect(choices.filter((choice) => !files.some((file) => regExpOf(choice).test(file)))).toEqual([])
})
