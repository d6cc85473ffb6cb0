/**
 * The one table of the commands, of which parsing, help, completion of shells and the documents are made; its order is
 * that of the help.
 */
import type { CommandEntry } from './command.ts'
import { contractCommands } from './contracts.ts'
import { operatingCommands } from './operating.ts'
import { serviceCommands } from './services.ts'

export const commandTable = { ...serviceCommands, ...operatingCommands, ...contractCommands }

export type CommandName = keyof typeof commandTable

export const commandNames = Object.keys(commandTable) as readonly CommandName[]

/** Returns what the table says of a command, without the types of its options. */
export function commandEntry(name: CommandName): CommandEntry {
  return commandTable[name]
}

export function isCommandName(word: string): word is CommandName {
  return Object.hasOwn(commandTable, word)
}

/** Returns the names of the options that a command, or one of its subcommands, takes. */
export function optionNamesOf(name: CommandName, subcommand?: string): readonly string[] {
  return Object.entries(commandEntry(name).options)
    .filter(([, { subcommands }]) => subcommand === undefined || subcommands?.includes(subcommand) !== false)
    .map(([option]) => option)
}
