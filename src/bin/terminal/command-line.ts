/** Parses command lines by the table of commands, and formats command lines for copying. */
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { nearestName } from '../../codec/misspelling.ts'
import {
  type CommandName,
  commandEntry,
  commandNames,
  commandTable,
  isCommandName,
  optionNamesOf,
} from '../command-table/index.ts'
import { usageOf } from './help.ts'

/** The version in package.json, which may be missing in an installation. A test compares the two. */
export const PACKAGE_VERSION = '0.2.0-dev'

/** A wrong command line. The message ends with the usage. */
export class UsageError extends Error {
  /** The problem, without the usage. */
  readonly why: string

  constructor(command: CommandName, why = '', options?: ErrorOptions) {
    super([why, usageOf(command, commandName())].filter((text) => text !== '').join('\n\n'), options)
    this.why = why
  }
}

type OptionsOf<Name extends CommandName> = (typeof commandTable)[Name]['options']

interface ParserConfig<Name extends CommandName> {
  readonly args: string[]
  readonly allowPositionals: true
  readonly options: OptionsOf<Name>
}

type ParsedWords<Name extends CommandName> = ReturnType<typeof parseArgs<ParserConfig<Name>>>

/** The words after a command. The value of an option with choices is one of these. */
interface Words<Name extends CommandName> {
  readonly positionals: ParsedWords<Name>['positionals']
  readonly values: {
    readonly [Option in keyof ParsedWords<Name>['values']]:
      | (OptionsOf<Name>[Option & keyof OptionsOf<Name>] extends { readonly choices: readonly (infer Choice)[] }
          ? Choice
          : Exclude<ParsedWords<Name>['values'][Option], undefined>)
      | Extract<ParsedWords<Name>['values'][Option], undefined>
  }
}

/**
 * Parses the words after a command by its table. Throws a {@link UsageError} for an option that the command or
 * subcommand does not have, and for a value that is not one of the choices.
 */
export function readWords<Name extends CommandName>(command: Name, args: string[]): Words<Name> {
  const config: ParseArgsConfig = { args, allowPositionals: true, options: commandTable[command].options }
  const parsedWords = parseWords(command, config)
  const [subcommand] = parsedWords.positionals
  for (const token of parsedWords.tokens) {
    if (token.kind === 'option') checkOption(command, subcommand, token)
  }
  if (commandEntry(command).choices === undefined && subcommand !== undefined) {
    throw new UsageError(command, `Unexpected argument '${subcommand}'`)
  }
  return parsedWords as unknown as Words<Name>
}

/** The commands with subcommands. The first word of the others with choices is a service or a shell. */
type CommandWithSubcommands = Exclude<
  { [Name in CommandName]: (typeof commandTable)[Name] extends { choices: unknown } ? Name : never }[CommandName],
  'init' | 'doctor' | 'completion'
>
export type Subcommand<Name extends CommandWithSubcommands> = (typeof commandTable)[Name]['choices'][number]

interface SubcommandWords<Name extends CommandWithSubcommands> {
  readonly subcommand: Subcommand<Name>
  /** The words after the subcommand. */
  readonly rest: readonly string[]
  readonly values: Words<Name>['values']
}

/**
 * Parses the words after a command with subcommands. Throws a {@link UsageError} if the subcommand is missing or
 * unknown.
 */
export function readSubcommand<Name extends CommandWithSubcommands>(
  command: Name,
  args: string[],
): SubcommandWords<Name> {
  const { values, positionals } = readWords(command, args)
  const [subcommand, ...rest] = positionals
  if (subcommand === undefined) throw new UsageError(command)
  if (!isSubcommand(command, subcommand)) throw new UsageError(command, `there is no command ${command} ${subcommand}`)
  return { subcommand: subcommand as Subcommand<Name>, rest, values }
}

function parseWords(command: CommandName, config: ParseArgsConfig) {
  try {
    return parseArgs({ ...config, tokens: true })
  } catch (error) {
    throw new UsageError(command, wordsProblem(error, optionNamesOf(command)), { cause: error })
  }
}

interface OptionToken {
  readonly name: string
  readonly value?: string | undefined
}

function checkOption(command: CommandName, subcommand: string | undefined, { name, value }: OptionToken): void {
  const { subcommands, choices } = commandEntry(command).options[name] ?? {}
  const isKnown = subcommand !== undefined && isSubcommand(command, subcommand)
  if (isKnown && subcommands?.includes(subcommand) === false) {
    throw new UsageError(command, `--${name} is for ${subcommands.map((word) => `${command} ${word}`).join(', ')}`)
  }
  if (choices !== undefined && value !== undefined && !choices.includes(value)) {
    throw new UsageError(command, `--${name} ${value}: say ${choices.join(' or ')}`)
  }
}

function isSubcommand(command: CommandName, word: string): boolean {
  return commandEntry(command).choices?.includes(word) === true
}

/**
 * Returns Node's message about a wrong option, without its advice about hyphens, and with the option that was probably
 * meant.
 */
function wordsProblem(error: unknown, options: readonly string[]): string {
  const [sentence = ''] = (error as Error).message.split(' To specify a positional argument')
  const text = sentence.replace(/\.$/, '')
  const [, unknown = ''] = /^Unknown option '--([^']*)'/.exec(text) ?? []
  const nearest = nearestName(unknown, options)
  return nearest === undefined ? text : `${text}; did you mean --${nearest}?`
}

/** Returns a suggestion for a word that resembles a command or one of its subcommands; undefined if it does not. */
export function wordHint(word: string, nextWord: string | undefined): string | undefined {
  const command = nearestName(word, commandNames)
  if (command !== undefined) return `Did you mean ${command}?`
  const subcommands = isCommandName(word) ? (commandEntry(word).choices ?? []) : []
  const subcommand = nearestName(nextWord ?? '', subcommands)
  return subcommand === undefined
    ? undefined
    : `There is no ${word} ${nextWord ?? ''}. Did you mean ${word} ${subcommand}?`
}

/** Returns the message for words that do not name one service, with a valid command. */
export function serviceProblem(command: 'doctor' | 'init', words: readonly string[]): string {
  const [word, ...more] = words
  return `${
    word === undefined
      ? 'Say which service: issuer, verifier or engine.'
      : more.length > 0
        ? 'Name one service at a time: issuer, verifier or engine.'
        : `There is no service ${word}; there are issuer, verifier and engine.`
  } For example: ${commandName()} ${command} issuer`
}

/** The file of the command in the images of the Dockerfile, where it can be called by its name. */
export const FILE_IN_IMAGE = '/opt/vouchsafe/dist/vouchsafe.cjs'

/** Returns how the user called the command: by its name, with npx, or by its file in a clone. */
export function commandName(): string {
  const [, file = ''] = process.argv
  if (file.endsWith('/node_modules/.bin/vouchsafe')) return 'npx vouchsafe'
  return file.endsWith('.cjs') && file !== FILE_IN_IMAGE ? `node ${shellWord(file)}` : 'vouchsafe'
}

/** Parses the value of `--port`. Throws a message for the user if it is not a port. */
export function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new Error(`--port: ${text} is not a port; name a number from 0 to 65535`)
}

/** Quotes a path as one word of a shell command. */
export function shellWord(path: string): string {
  return /^[\w./:@%+=-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}
