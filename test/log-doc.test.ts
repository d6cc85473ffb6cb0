/** docs/log.md has each event of the log, with the levels that it may have, and none that there is not. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from './support/documents.ts'

/** Where a source says which event a line has. */
const EVENT = /\bevent(?::| =) |\blogEvents?: |\blogAuditAccess\(context|'administered'/
const LEVEL = /[.](info|warn|error|fatal)\(/
/** The folder without a log, whose events are those of a notification. */
const WALLET = 'src/wallet/'

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .map((file) => `src/${file}`)
  .filter((file) => file.endsWith('.ts') && !/[.](test|contract)[.]ts$/.test(file) && !file.startsWith(WALLET))

/** Returns the events of the sources, each with the level of the call beside it where there is one. */
function readEvents(): Map<string, Set<string>> {
  const events = new Map<string, Set<string>>()
  for (const file of sources) {
    const lines = readFileSync(join(ROOT, file), 'utf8').split('\n')
    for (const [index, line] of lines.entries()) {
      if (!EVENT.test(line)) continue
      // The call is on the line itself, begins on the line before, or takes the line that is made here.
      const near = [line, lines[index - 1] ?? '', ...lines.slice(index + 1, index + 8)].join('\n')
      const [, level] = LEVEL.exec(near) ?? []
      for (const [, name = ''] of line.matchAll(/(?<!=== )'(?!event')([a-z]+(?:_[a-z]+)*)'/g)) {
        events.set(name, (events.get(name) ?? new Set()).add(level ?? ''))
      }
    }
  }
  return events
}

const page = readFileSync(join(ROOT, 'docs/log.md'), 'utf8')
const rows = [...page.matchAll(/^\| (`.*?) \| ([a-z, ]+) \|/gm)].flatMap(([, names = '', levels = '']) =>
  [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => [name, levels.split(', ')] as const),
)

it('names each event that a line of the log may have, once, and no other', () => {
  const names = rows.map(([name]) => name)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  const made = names.filter((name) => /^transaction_(exhausted|lost|unreachable)$/.test(name))
  expect([...names].sort()).toEqual([...readEvents().keys(), ...made].sort())
})

it('says the level of each event', () => {
  const levels = new Map(rows)
  const wrong = [...readEvents()].filter(
    ([name, ofSources]) => ![...ofSources].every((level) => level === '' || levels.get(name)?.includes(level)),
  )
  expect(wrong).toEqual([])
})
