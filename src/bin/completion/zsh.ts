/** Shell completion for zsh. */
import { commandEntry, commandNames } from '../command-table/index.ts'
import { choicePlaces, filePlaces, optionPlaces, placePattern, type ShellCompletion, valuePlaces } from './places.ts'

export function zshScript(): string {
  const names = commandNames.map((command) => describeEntry(command, commandEntry(command).does))
  return `#compdef vouchsafe
# Completion of vouchsafe for zsh. A line of ~/.zshrc, after compinit: source <(vouchsafe completion zsh)
_vouchsafe() {
  local command=\${words[2]} previous=\${words[CURRENT-1]} subcommand=''
  local -a options names
  names=(${names.join('\n    ')})
  if ((CURRENT > 3)) subcommand=\${words[3]}
  if ((CURRENT == 2)); then
    names+=('help:what a command does' '--version:the version' '--help:all commands')
    _describe command names
    return
  fi
  if [[ $PREFIX == --*=* ]]; then
    previous=\${PREFIX%%=*}
    compset -P '*='
  fi
  case "$command $previous" in
${valueCases()}
  esac
  if [[ $PREFIX == -* ]]; then
    case "$command $subcommand" in
${optionCases()}
    esac
    _describe -o option options
  elif ((CURRENT == 3)); then
    case $command in
      (help) _describe command names ;;
${choiceCases()}
    esac
  else
    case "$command $subcommand" in
      (${filePlaces().map(placePattern).join('|')}) _files ;;
    esac
  fi
}
compdef _vouchsafe vouchsafe
`
}

function valueCases(): string {
  return valuePlaces()
    .map(({ command, option, completion }) => `    ('${command} --${option}') ${zshAction(completion)}; return ;;`)
    .join('\n')
}

function optionCases(): string {
  return optionPlaces()
    .map((place) => {
      const { options } = commandEntry(place.command)
      const rows = place.options.map((option) =>
        describeEntry(`--${option}`, options[option]?.does ?? 'options, examples and exit statuses'),
      )
      return `      (${placePattern(place)}) options=(${rows.join(' ')}) ;;`
    })
    .join('\n')
}

function choiceCases(): string {
  return choicePlaces()
    .map(([command, words]) => `      (${command}) compadd -- ${words} ;;`)
    .join('\n')
}

function zshAction(completion: ShellCompletion): string {
  if (completion === 'unknown') return ':'
  if (completion === 'file') return '_files'
  if (completion === 'directory') return '_files -/'
  return `compadd -- ${completion.words.join(' ')}`
}

/** Formats an entry of `_describe`, in which a colon ends the word. */
function describeEntry(word: string, does: string): string {
  return `'${word.replaceAll(':', '\\:')}:${does.replaceAll("'", "'\\''")}'`
}
