/** Shell completion for bash. */
import { commandNames } from '../command-table/index.ts'
import { choicePlaces, filePlaces, optionPlaces, placePattern, type ShellCompletion, valuePlaces } from './places.ts'

export function bashScript(): string {
  const first = ['help', ...commandNames, '--help', '--version'].join(' ')
  return `# Completion of vouchsafe for bash. A line of ~/.bashrc: source <(vouchsafe completion bash)
_vouchsafe() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]}
  # bash takes the = of --option=value for a word of its own.
  [[ $cur == '=' ]] && cur=''
  [[ $prev == '=' ]] && prev=\${COMP_WORDS[COMP_CWORD-2]}
  local command=\${COMP_WORDS[1]} subcommand=\${COMP_WORDS[2]}
  ((COMP_CWORD == 2)) && subcommand=''
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    ${replyWith(first)}
    return
  fi
  case "$command $prev" in
${valueCases()}
  esac
  if [[ $cur == -* ]]; then
    case "$command $subcommand" in
${optionCases()}
    esac
  elif ((COMP_CWORD == 2)); then
    case $command in
${choiceCases()}
    esac
  else
    case "$command $subcommand" in
      ${filePlaces().map(placePattern).join('|')}) ${bashAction('file')} ;;
    esac
  fi
}
complete -F _vouchsafe vouchsafe
`
}

function valueCases(): string {
  return valuePlaces()
    .map(({ command, option, completion }) => `    '${command} --${option}') ${bashAction(completion)}; return ;;`)
    .join('\n')
}

function optionCases(): string {
  return optionPlaces()
    .map(
      (place) =>
        `      ${placePattern(place)}) ${replyWith(place.options.map((option) => `--${option}`).join(' '))} ;;`,
    )
    .join('\n')
}

function choiceCases(): string {
  return [...choicePlaces(), ['help', commandNames.join(' ')] as const]
    .map(([command, words]) => `      ${command}) ${replyWith(words)} ;;`)
    .join('\n')
}

function bashAction(completion: ShellCompletion): string {
  if (completion === 'unknown') return ':'
  if (typeof completion !== 'string') return replyWith(completion.words.join(' '))
  const [kind, flag] = completion === 'directory' ? ['dirnames', '-d'] : ['filenames', '-f']
  return `compopt -o ${kind} 2>/dev/null; mapfile -t COMPREPLY < <(compgen ${flag} -- "$cur")`
}

function replyWith(words: string): string {
  return `COMPREPLY=($(compgen -W '${words}' -- "$cur"))`
}
