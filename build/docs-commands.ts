/**
 * docs/commands.md: the words, options, examples and exit statuses of the command, from the table that reads and
 * completes them.
 */
import { COMMAND_GROUPS, type CommandEntry } from '../src/bin/command-table/command.ts'
import { commandEntry, commandNames } from '../src/bin/command-table/index.ts'
import { optionText } from '../src/bin/terminal/help.ts'
import { GENERATED, tableText } from './docs-text.ts'

export function commandsPage(): string {
  const groups = COMMAND_GROUPS.map((group) => {
    const names = commandNames.filter((name) => commandEntry(name).group === group)
    return `## ${group}\n\n${names.map((name) => commandText(name, commandEntry(name))).join('\n')}`
  })
  return `${GENERATED}
# Commands

On this page you find the words, options and exit statuses of every command. \`vouchsafe help COMMAND\` prints the same, and
\`vouchsafe completion\` lets your shell complete them. \`vouchsafe\` stands for \`node …/dist/vouchsafe.cjs\` in a clone, and for
\`npx vouchsafe\` in a project that has installed the package. \`NO_COLOR\` turns colours off, \`FORCE_COLOR\` on; without them
colours are for terminals alone.

When stdout cannot be written, as on a full disk, every command but the services and the demo says so on stderr, and exits with
74, or with the status of the failure that it could not print; so does the help of every command. A reader of a pipe may end
early, like \`head\`.

${groups.join('\n')}`
}

function commandText(name: string, { does, forms, options, notes = [], examples, exits }: CommandEntry): string {
  const uses = forms.map(({ words, does: what }) => [code(`vouchsafe ${name} ${words}`.trimEnd()), cell(what)])
  const optionRows = Object.entries(options).map(([option, entry]) => [
    code(optionText(option, entry)),
    (entry.subcommands ?? []).map(code).join(', '),
    typeof entry.default === 'string' ? code(entry.default) : '',
    cell(entry.does),
  ])
  const parts = [
    `### ${name}\n\n${capital(does)}.`,
    tableText(['command', 'does'], uses),
    optionRows.length === 0 ? '' : tableText(['option', 'of', 'when absent', 'is'], optionRows),
    ...notes,
    examples.map(({ line, does: what }) => `- ${code(line)}: ${what}`).join('\n'),
    tableText(
      ['exit status', 'when'],
      Object.entries(exits).map(([status, when]) => [status, cell(when)]),
    ),
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

/** Inline code, which may have bars where it stands in a table. */
const code = (text: string): string => `\`${text.replaceAll('|', '\\|')}\``
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '\\<')
const capital = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
