/** The positions in a command line that can be completed, for the scripts of all shells. */
import { type CommandOption, PLACEHOLDERS, type Placeholder } from '../command-table/command.ts'
import { type CommandName, commandEntry, commandNames, optionNamesOf } from '../command-table/index.ts'

/** A completion: one of some words, a file, a directory, or nothing known. */
export type ShellCompletion = { readonly words: readonly string[] } | 'file' | 'directory' | 'unknown'

/** The options after a command, or after one of its subcommands. */
export interface OptionPlace {
  readonly command: CommandName
  /** The subcommand; absent for a command without subcommands. */
  readonly subcommand?: string
  readonly options: readonly string[]
}

/** The value of an option. */
export interface ValuePlace {
  readonly command: CommandName
  readonly option: string
  readonly completion: ShellCompletion
}

/** Returns the positions of options. Those after subcommands come first, since scripts use the first match. */
export function optionPlaces(): readonly OptionPlace[] {
  const places = commandNames.flatMap((command) => {
    const { choices } = commandEntry(command)
    const place = (subcommand?: string): OptionPlace => ({
      command,
      ...(subcommand !== undefined && { subcommand }),
      options: [...optionNamesOf(command, subcommand), 'help'],
    })
    return [place(), ...(choices ?? []).map(place)]
  })
  const isGeneral = ({ subcommand }: OptionPlace): boolean => subcommand === undefined
  return [...places.filter((place) => !isGeneral(place)), ...places.filter(isGeneral)]
}

/** Returns the commands with a choice of first words, each with its words. */
export function choicePlaces(): readonly (readonly [CommandName, string])[] {
  return commandNames.flatMap((command) => {
    const { choices } = commandEntry(command)
    return choices === undefined ? [] : [[command, choices.join(' ')] as const]
  })
}

/** Makes the pattern that matches `"$command $subcommand"`, for bash and zsh. */
export function placePattern({ command, subcommand }: Pick<OptionPlace, 'command' | 'subcommand'>): string {
  return subcommand === undefined ? `'${command} '*` : `'${command} ${subcommand}'`
}

/** Returns the positions of option values that can be completed. */
export function valuePlaces(): readonly ValuePlace[] {
  return commandNames.flatMap((command) =>
    Object.entries(commandEntry(command).options)
      .filter(([, { type }]) => type === 'string')
      .map(([option, entry]) => ({ command, option, completion: completionOf(entry) })),
  )
}

function completionOf({ choices, value }: CommandOption): ShellCompletion {
  if (choices !== undefined) return { words: choices }
  return value === undefined ? 'unknown' : PLACEHOLDERS[value]
}

function isFile(subject: string): boolean {
  return Object.hasOwn(PLACEHOLDERS, subject) && PLACEHOLDERS[subject as Placeholder] === 'file'
}

/** Returns the forms with a file after the subcommand, as in `audit verify COPY`. */
export function filePlaces(): readonly { readonly command: CommandName; readonly subcommand: string }[] {
  return commandNames.flatMap((command) =>
    commandEntry(command).forms.flatMap(({ words }) => {
      const [subcommand = '', subject = ''] = words.split(' ')
      return isFile(subject) ? [{ command, subcommand }] : []
    }),
  )
}
