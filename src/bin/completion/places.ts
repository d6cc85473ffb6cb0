/** The places of a command line at which a shell can complete something, for the scripts of all shells. */
import { type CommandOption, PLACEHOLDERS, type Placeholder } from '../command-table/command.ts'
import { type CommandName, commandEntry, commandNames, optionNamesOf } from '../command-table/index.ts'

/** A completion at a place: one of some words, the name of a file or directory, or nothing that a shell knows. */
export type ShellCompletion = { readonly words: readonly string[] } | 'file' | 'directory' | 'unknown'

/** The options after a command and, where it has subcommands, after one of these. */
export interface OptionPlace {
  readonly command: CommandName
  /** Absent for a command without subcommands. */
  readonly subcommand?: string
  readonly options: readonly string[]
}

/** The value of an option. */
export interface ValuePlace {
  readonly command: CommandName
  readonly option: string
  readonly completion: ShellCompletion
}

/** Returns the places of options, those after subcommands first, as scripts take the first place that fits. */
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

/** Returns the commands that have a choice of first words, each with its words. */
export function choicePlaces(): readonly (readonly [CommandName, string])[] {
  return commandNames.flatMap((command) => {
    const { choices } = commandEntry(command)
    return choices === undefined ? [] : [[command, choices.join(' ')] as const]
  })
}

/** Formats the pattern that `"$command $subcommand"` has at the place, for bash and zsh. */
export function placePattern({ command, subcommand }: Pick<OptionPlace, 'command' | 'subcommand'>): string {
  return subcommand === undefined ? `'${command} '*` : `'${command} ${subcommand}'`
}

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

/** Returns the forms after whose subcommand a file may stand, as in `audit verify COPY`. */
export function filePlaces(): readonly { readonly command: CommandName; readonly subcommand: string }[] {
  return commandNames.flatMap((command) =>
    commandEntry(command).forms.flatMap(({ words }) => {
      const [subcommand = '', subject = ''] = words.split(' ')
      return isFile(subject) ? [{ command, subcommand }] : []
    }),
  )
}
