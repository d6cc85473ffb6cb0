/** The types of the table of commands: words, options, examples and exit statuses as data. */

/** The placeholders for values, and how a shell completes each. */
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
  COUNTRY: 'unknown',
  GWEI: 'unknown',
  ID: 'unknown',
  ISSUER: 'unknown',
  JSON: 'unknown',
  N: 'unknown',
  NUMBER: 'unknown',
  PORT: 'unknown',
  SCOPE: 'unknown',
  TYPE: 'unknown',
  URL: 'unknown',
  'URL|ADDRESS=URL': 'unknown',
  'URL|CONFIG.json': 'unknown',
} as const satisfies Readonly<Record<string, 'file' | 'directory' | 'unknown'>>
export type Placeholder = keyof typeof PLACEHOLDERS

/** An option of a command, as `parseArgs` of Node expects it, with its description. */
export interface CommandOption {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: boolean
  readonly default?: string | boolean | string[]
  /** The placeholder of the value; an option with choices shows these instead. */
  readonly value?: Placeholder
  /** The allowed values. */
  readonly choices?: readonly string[]
  readonly does: string
  /** The subcommands that have the option; all when absent. */
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
  /** The choices for the first word: subcommands, services or shells. */
  readonly choices?: readonly string[]
  readonly options: Readonly<Record<string, CommandOption>>
  readonly notes?: readonly string[]
  readonly examples: readonly CommandExample[]
  /** The meaning of each exit status. */
  readonly exits: Readonly<Partial<Record<ExitStatus, string>>>
  /** The subcommands that have an exit status; all when absent. */
  readonly exitSubcommands?: Readonly<Partial<Record<ExitStatus, readonly string[]>>>
}

export type ExitStatus = 0 | 1 | 2 | 75

/** The groups of commands in the help, in order. */
export const COMMAND_GROUPS = [
  'Services',
  'Getting started and finding out',
  'Operating a service',
  'The reference wallet',
  'Contracts with off-chain components',
  'Your shell',
] as const
export type CommandGroup = (typeof COMMAND_GROUPS)[number]

/** The default configuration file of a service. */
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

/** An option that may be given several times. */
export const REPEATED = { type: 'string', multiple: true, default: [] as string[] } as const

/** The meaning of exit status 2 for all commands. */
export const WRONG_WORDS = 'the command line is wrong'
