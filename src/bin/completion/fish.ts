/** Shell completion for fish. */
import { type CommandName, commandEntry, commandNames } from '../command-table/index.ts'
import { filePlaces, type ShellCompletion, valuePlaces } from './places.ts'

export function fishScript(): string {
  const files = filePlaces().map(
    ({ command, subcommand }) => `complete -c vouchsafe -n '__vouchsafe_in ${command} ${subcommand}' -F`,
  )
  return `# Completion of vouchsafe for fish. Once: vouchsafe completion fish > ~/.config/fish/completions/vouchsafe.fish
# True at the first word after the command and exactly these words.
function __vouchsafe_at
    set -l words (commandline -opc)
    test (count $words) -eq (math (count $argv) + 1); and test "$words[2..]" = "$argv"
end
# True after the command in the first word and, where more are given, one of these subcommands.
function __vouchsafe_in
    set -l words (commandline -opc)
    test "$words[2]" = "$argv[1]"; or return 1
    test (count $argv) -eq 1; or not set -q words[3]; or contains -- "$words[3]" $argv[2..]
end
complete -c vouchsafe -f
complete -c vouchsafe -n '__vouchsafe_at' -a help -d 'what a command does'
complete -c vouchsafe -n '__vouchsafe_at' -l version -d 'the version'
complete -c vouchsafe -l help -s h -d 'options, examples and exit statuses'
${[...commandNames.flatMap(commandLines), ...files].join('\n')}
`
}

function commandLines(command: CommandName): readonly string[] {
  const { does, choices, options } = commandEntry(command)
  const values = valuePlaces().filter((place) => place.command === command)
  const completionLine = (condition: string, action: string) => `complete -c vouchsafe -n '${condition}' ${action}`
  return [
    completionLine('__vouchsafe_at', `-a ${command} -d ${quote(does)}`),
    completionLine('__vouchsafe_at help', `-a ${command} -d ${quote(does)}`),
    ...(choices === undefined ? [] : [completionLine(`__vouchsafe_at ${command}`, `-a ${quote(choices.join(' '))}`)]),
    ...Object.entries(options).map(([name, { does: what, subcommands = [], short }]) => {
      const names = short === undefined ? `-l ${name}` : `-l ${name} -s ${short}`
      const action = fishAction(values.find(({ option }) => option === name)?.completion)
      return completionLine(
        `__vouchsafe_in ${[command, ...subcommands].join(' ')}`,
        `${names}${action} -d ${quote(what)}`,
      )
    }),
  ]
}

function fishAction(completion: ShellCompletion | undefined): string {
  if (completion === undefined) return ''
  if (completion === 'unknown') return ' -x'
  if (completion === 'file') return ' -r -F'
  if (completion === 'directory') return " -x -a '(__fish_complete_directories)'"
  return ` -x -a ${quote(completion.words.join(' '))}`
}

function quote(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}
