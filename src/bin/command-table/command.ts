/** Types of the table of commands: words, options, examples and exit statuses as data, for all that is made of them. */

/** The words that stand for values, and what a shell completes in the place of each. */
export const PLACEHOLDERS = {
  FILE: 'file',
  KEYFILE: 'file',
  PEM: 'file',
  COPY: 'file',
  KEPT: 'file',
  MODULE: 'file',
  'NAME|ARTIFACT.json': 'file',
  DIR: 'directory',
  ADDRESS: 'unknown',
  'CLAIM=VALUE': 'unknown',
  CODE: 'unknown',
  ID: 'unknown',
  ISSUER: 'unknown',
  JSON: 'unknown',
  N: 'unknown',
  NUMBER: 'unknown',
  PORT: 'unknown',
  SCOPE: 'unknown',
  URL: 'unknown',
  'URL|ADDRESS=URL': 'unknown',
  'URL|CONFIG.json': 'unknown',
} as const satisfies Readonly<Record<string, 'file' | 'directory' | 'unknown'>>
export type Placeholder = keyof typeof PLACEHOLDERS

/** An option of a command, in the form that `parseArgs` of Node takes, with what people read about it. */
export interface CommandOption {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: boolean
  readonly default?: string | boolean | string[]
  /** The word that stands for the value; for an option with choices these stand there. */
  readonly value?: Placeholder
  /** The values of which one has to be given. */
  readonly choices?: readonly string[]
  readonly does: string
  /** The subcommands that take the option; all of them when absent. */
  readonly subcommands?: readonly string[]
}

/** A form of the words after a command. */
export interface CommandForm {
  /** The words after the command; the first one is the subcommand, if the command has any. */
  readonly words: string
  readonly does: string
}

export interface CommandExample {
  readonly line: string
  readonly does: string
}

export interface CommandEntry {
  readonly group: CommandGroup
  readonly does: string
  readonly forms: readonly CommandForm[]
  /** The first words among which to choose: subcommands, services or shells. */
  readonly choices?: readonly string[]
  readonly options: Readonly<Record<string, CommandOption>>
  readonly notes?: readonly string[]
  readonly examples: readonly CommandExample[]
  /** The meaning of each exit status. */
  readonly exits: Readonly<Partial<Record<ExitStatus, string>>>
}

export type ExitStatus = 0 | 1 | 2 | 75

/** The headings under which help lists the commands, in their order. */
export const COMMAND_GROUPS = [
  'Services',
  'Getting started and finding out',
  'Operating a service',
  'The reference wallet',
  'Contracts with off-chain components',
  'Your shell',
] as const
export type CommandGroup = (typeof COMMAND_GROUPS)[number]

/** The configuration of a service, unless its command names another. */
export const CONFIG_FILE = 'conf/server.json'

export const CONFIG_OPTION = {
  type: 'string',
  default: CONFIG_FILE,
  value: 'FILE',
  does: 'the configuration; paths in it are relative to the working directory',
} as const

export const JSON_OPTION = {
  type: 'boolean',
  default: false,
  does: 'print JSON and nothing else, errors too',
} as const

/** The meaning that the exit status 2 has for every command. */
export const WRONG_WORDS = 'the command line is wrong'
