import { describe, expect, it } from 'vitest'
import { readWords } from '../terminal/command-line.ts'
import { helpOf, overallHelp } from '../terminal/help.ts'
import { commandEntry, commandNames } from './index.ts'

describe.each(commandNames)('the table says of %s', (name) => {
  const { choices = [], does, examples, exits, forms, options } = commandEntry(name)

  it('forms and options that name its own subcommands', () => {
    const words = forms.map((form) => form.words.replace(/[[\]]/g, '').split(' ')[0] ?? '')
    expect(words.filter((word) => word !== '').flatMap((word) => word.split('|'))).toEqual(
      expect.arrayContaining([...choices]),
    )
    const named = Object.values(options).flatMap(({ subcommands = [] }) => subcommands)
    expect(named.filter((word) => !choices.includes(word))).toEqual([])
  })

  it('a value for each option that has one, and choices that have the value when absent', () => {
    for (const [option, { type, value, choices: values, default: preset }] of Object.entries(options)) {
      expect([option, value !== undefined || values !== undefined]).toEqual([option, type === 'string'])
      if (values !== undefined && preset !== undefined) expect(values).toContain(preset)
    }
  })

  it('examples whose words it takes', () => {
    expect(examples.length).toBeGreaterThan(0)
    for (const { line } of examples) {
      const [, words = ''] = new RegExp(`vouchsafe ${name}\\b ?([^>)]*)`).exec(line) ?? []
      expect(line).toContain(`vouchsafe ${name}`)
      const given = words.replaceAll("'", '').split(' ').filter(Boolean)
      const named = given.flatMap((word) => /^--(?:no-)?([^=]+)/.exec(word)?.[1] ?? [])
      expect(Object.keys(readWords(name, given).values)).toEqual(expect.arrayContaining(named))
    }
  })

  it('what success and a wrong command line end with', () => {
    expect(Object.keys(exits)).toEqual(expect.arrayContaining(['0', '2']))
    expect(exits[2]).toContain('the command line is wrong')
  })

  it('help in the one style, in which every line fits', () => {
    const help = helpOf(name)
    const headings = [...help.matchAll(/^(\w[\w ]*):$/gm)].map(([, heading]) => heading)
    const expected = ['Usage', 'Options', 'Examples', 'Exit status']
    expect(headings).toEqual(expected.filter((heading) => heading !== 'Options' || Object.keys(options).length > 0))
    const tooLong = help.split('\n').filter((line) => line.length > 80 && !/^ {2}\S*(vouchsafe|VOUCHSAFE)/.test(line))
    expect(tooLong).toEqual([`vouchsafe ${name} - ${does}`].filter((line) => line.length > 80))
    expect(overallHelp()).toContain(`\n  ${name} `)
  })
})

describe('the help of a subcommand', () => {
  it('has its own forms, options and examples alone', () => {
    const help = helpOf('callbacks', 'retry')
    expect(help).toContain('vouchsafe callbacks retry --all')
    expect(help).toContain('\n  --all ')
    expect(help).not.toMatch(/callbacks list|--dead/)
  })

  it('says first what the subcommand does, and has the exit statuses of its own alone', () => {
    const [migrate, status] = [helpOf('db', 'migrate'), helpOf('db', 'status')]
    expect(status).toMatch(/^vouchsafe db status - the schema, the generation, sizes and rows\n/)
    expect(status.match(/sizes and rows/g)).toHaveLength(1)
    expect([migrate, status].map((help) => help.includes('with --check:'))).toEqual([true, false])
    expect(status).toMatch(/\n {2}0 {2}done\n {2}2 {2}not done/)
    expect(helpOf('audit', 'export')).not.toContain('the copy is not intact')
  })

  it('is that of the command where the word is a service', () => {
    expect(helpOf('init', 'issuer')).toBe(helpOf('init'))
  })
})
