/**
 * The words that shells complete with the scripts of `vouchsafe completion`: each shell runs as a person's does, with
 * its own completion.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type Shell = 'bash' | 'zsh' | 'fish'

/** The longest time that a shell may take. */
const SHELL_MS = 600_000

/** Asks bash by the variables that it sets for a completion. */
const BASH = `source "$1"
read -ra COMP_WORDS <<< "$2"
[[ $2 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
_vouchsafe
printf '%s\\n' "\${COMPREPLY[@]}"`

/** Asks zsh in a terminal of its own, by the tabulator key, and prints each match that the shell would add. */
const ZSH = `zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PROMPT=''; PS2=''; autoload -Uz compinit; compinit -D -u; source $1"
zpty -w z 'compadd() {
  [[ " \${@[1,(i)(-|--)]} " == *" -"[OAD]" "* ]] && { builtin compadd "$@"; return }
  local -a hits; builtin compadd -A hits "$@"; print -rl -- "HIT:"\${^hits}
}
comppostfuncs=(finish); finish() { print THE END }; bindkey "^I" complete-word; print READY$((1))'
while zpty -r z line; do [[ $line == *READY1* ]] && break; done
zpty -wn z "$2"$'\\t'
while zpty -r z line; do print -r -- "$line"; [[ $line == *THE\\ END* ]] && break; done
zpty -d z`

const FISH = 'source $argv[1]; complete -C $argv[2]'

export function hasShell(shell: Shell): boolean {
  return spawnSync(shell, ['--version']).status === 0
}

/** Returns what the shell offers at the end of `line`, sorted. */
export function completionsOf(shell: Shell, script: string, line: string, cwd: string): readonly string[] {
  const file = join(cwd, `.completion.${shell}`)
  writeFileSync(file, script)
  const args = {
    bash: ['--norc', '-c', BASH, 'bash', file, line],
    zsh: ['-f', '-c', ZSH, 'zsh', file, line],
    fish: ['--no-config', '-c', FISH, file, line],
  }
  const env = { PATH: process.env.PATH, HOME: cwd, TERM: 'dumb' }
  const output = execFileSync(shell, args[shell], { cwd, env, encoding: 'utf8', timeout: SHELL_MS })
  const lines = output.replaceAll('\r', '').split('\n')
  const words =
    shell === 'zsh'
      ? lines.flatMap((each) => [...each.matchAll(/HIT:(\S+)/g)].map(([, word = '']) => word))
      : lines.map((each) => each.split('\t')[0] ?? '')
  // zsh asks each of its completers.
  return [...new Set(words)].filter((word) => word !== '').sort()
}
