/** Formats the help of the command from the table of commands. */
import { COMMAND_GROUPS, type CommandOption, type ExitStatus } from '../command-table/command.ts'
import { type CommandName, commandEntry, commandNames, optionNamesOf } from '../command-table/index.ts'
import { hangingIndent, paint } from './terminal.ts'

const INDENT = '  '
/** The maximum width of the left column. */
const COLUMN = 26
const STATUSES = [0, 1, 2, 75] as const satisfies readonly ExitStatus[]

/** Returns the help with all commands. */
export function overallHelp(): string {
  const groups = COMMAND_GROUPS.map((group) => {
    const rows = commandNames
      .filter((name) => commandEntry(name).group === group)
      .map((name) => [name, commandEntry(name).does] as const)
    return section(group, rows)
  })
  return [
    'vouchsafe - issue and verify digital credentials, run off-chain components of contracts\n',
    ...groups,
    section('All commands', [
      ['--help', 'options, examples and exit statuses of a command; also: vouchsafe help COMMAND'],
      ['--version', 'the version'],
    ]),
    section('Environment', [
      ['NO_COLOR', 'no colours; without it they are used on terminals alone'],
      ['FORCE_COLOR', 'colours everywhere'],
    ]),
  ].join('\n')
}

/** Returns the help of a command, or of one of its subcommands. */
export function helpOf(command: CommandName, word?: string): string {
  const { does, forms, choices, options, notes = [], examples } = commandEntry(command)
  const subcommand = word !== undefined && choices?.includes(word) && hasFormOf(word, forms) ? word : undefined
  const shownForms = forms.filter(({ words }) => subcommand === undefined || words.split(' ')[0] === subcommand)
  const names = optionNamesOf(command, subcommand)
  const name = subcommand === undefined ? command : `${command} ${subcommand}`
  const matchingExamples = examples.filter(({ line }) => line.includes(`vouchsafe ${name}`))
  const [form, ...otherForms] = shownForms
  // The only form of a subcommand says what the subcommand does, and so the heading says it.
  const own = subcommand === undefined || otherForms.length > 0 ? undefined : form
  return [
    `vouchsafe ${own === undefined ? `${command} - ${does}` : `${name} - ${own.does}`}\n`,
    section(
      'Usage',
      shownForms.map(
        (each) => [formLine(command, each.words, names.length > 0), each === own ? '' : each.does] as const,
      ),
    ),
    section(
      'Options',
      names.map((option) => [optionText(option, options[option]), optionMeaning(options[option], subcommand)] as const),
    ),
    notes.map((note) => `${hangingIndent('', 0, note)}\n`).join(''),
    section(
      'Examples',
      (matchingExamples.length > 0 ? matchingExamples : examples).map(({ line, does: what }) => [line, what] as const),
    ),
    section('Exit status', exitRows(command, subcommand)),
  ]
    .filter((text) => text !== '')
    .join('\n')
}

/** Returns the exit statuses of a command, or of one of its subcommands. */
function exitRows(command: CommandName, subcommand: string | undefined): readonly (readonly [string, string])[] {
  const { exits, exitSubcommands = {} } = commandEntry(command)
  return STATUSES.flatMap((status) => {
    const isOfOthers = subcommand !== undefined && exitSubcommands[status]?.includes(subcommand) === false
    const meaning = isOfOthers ? undefined : exits[status]
    return meaning === undefined ? [] : [[String(status), meaning] as const]
  })
}

/** Tests whether the word is a subcommand with its own form, and not a service or shell. */
function hasFormOf(word: string, forms: readonly { readonly words: string }[]): boolean {
  return forms.some(({ words }) => words.split(' ')[0] === word)
}

/** Returns the usage of a command, for the end of an error message. */
export function usageOf(command: CommandName, commandName = 'vouchsafe'): string {
  const { forms, options } = commandEntry(command)
  const lines = forms.map(({ words }) => `${INDENT}${formLine(command, words, Object.keys(options).length > 0)}`)
  return `Usage:\n${lines.join('\n')}\n\nOptions and examples: ${commandName} ${command} --help`
}

function formLine(command: CommandName, words: string, hasOptions: boolean): string {
  return ['vouchsafe', command, words, hasOptions ? '[OPTIONS]' : ''].filter((word) => word !== '').join(' ')
}

/** Formats the names of an option and its value, as in `-y, --yes` or `--config FILE`. */
export function optionText(
  name: string,
  { short, choices, value }: CommandOption = { type: 'string', does: '' },
): string {
  const names = short === undefined ? `--${name}` : `-${short}, --${name}`
  return `${names} ${choices?.join('|') ?? value ?? ''}`.trimEnd()
}

function optionMeaning(
  { does, default: defaultValue, subcommands = [] }: CommandOption = { type: 'string', does: '' },
  subcommand?: string,
): string {
  const prefix = subcommand === undefined && subcommands.length > 0 ? `${subcommands.join(', ')}: ` : ''
  return `${prefix}${does}${typeof defaultValue === 'string' && defaultValue !== '' ? ` (${defaultValue} when absent)` : ''}`
}

/** Formats a heading with two columns. The right column is on the next line if the left one is too long. */
function section(heading: string, rows: readonly (readonly [string, string])[]): string {
  if (rows.length === 0) return ''
  const width = Math.max(...rows.map(([left]) => left.length).filter((length) => length <= COLUMN), 0)
  const margin = INDENT.length + width + 2
  const lines = rows.map(([left, right]) => {
    if (right === '') return `${INDENT}${left}`
    if (left.length <= width) return hangingIndent(`${INDENT}${left.padEnd(width)}  `, margin, right)
    return `${INDENT}${left}\n${hangingIndent(' '.repeat(margin), margin, right)}`
  })
  return `${paint('bold', `${heading}:`)}\n${lines.join('\n')}\n`
}
