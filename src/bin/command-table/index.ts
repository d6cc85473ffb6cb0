/**
 * The table of commands, from which parsing, help, shell completion and documentation are made. Its order is that of
 * the help.
 */
import type { CommandEntry } from './command.ts'
import { contractCommands } from './contracts.ts'
import { operatingCommands } from './operating.ts'
import { serviceCommands } from './services.ts'
import { walletCommands } from './wallet.ts'

export const commandTable = { ...serviceCommands, ...operatingCommands, ...walletCommands, ...contractCommands }

export type CommandName = keyof typeof commandTable

export const commandNames = Object.keys(commandTable) as readonly CommandName[]

/** Returns the entry of a command, without the types of its options. */
export function commandEntry(name: CommandName): CommandEntry {
  return commandTable[name]
}

export function isCommandName(word: string): word is CommandName {
  return Object.hasOwn(commandTable, word)
}

/** Returns the names of the options of a command, or of one of its subcommands. */
export function optionNamesOf(name: CommandName, subcommand?: string): readonly string[] {
  return Object.entries(commandEntry(name).options)
    .filter(([, { subcommands }]) => subcommand === undefined || subcommands?.includes(subcommand) !== false)
    .map(([option]) => option)
}
