/**
 * `vouchsafe secret`: shares a secret among the engines of a contract, and restores it. With `--json`, the output is
 * JSON.
 */
import { downloadSecret } from '../../../sdk/client/download.ts'
import { ClientError, type EngineError } from '../../../sdk/client/errors.ts'
import { deleteSecret, type SharingState, sharingStatus } from '../../../sdk/client/secret-sharing.ts'
import { type UploadOutcome, upload } from '../../../sdk/client/upload.ts'
import { removeControlCharacters } from '../../codec/control-characters.ts'
import { evmAddress } from '../../offchain/address.ts'
import { type Subcommand, UsageError } from '../terminal/command-line.ts'
import { type CommandOutput, outputOfFailure } from '../terminal/failure.ts'
import { timeText } from '../terminal/terminal.ts'
import { makeKey, printBytes, writePrivate } from './files.ts'
import { openUpload } from './pending.ts'
import { DEFAULT_SCHEME, readCommand, type SecretCommand, type SecretOptions } from './words.ts'

/** The output of a command. `hasFailed` means that it succeeded only partly. */
interface SecretResult {
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
  readonly hasFailed?: boolean
  /** The bytes for stdout; the text then goes to stderr. */
  readonly bytes?: Uint8Array
}

const commands: Readonly<
  Record<Exclude<Subcommand<'secret'>, 'key'>, (command: SecretCommand) => Promise<SecretResult>>
> = {
  put: putSecret,
  get: getSecret,
  delete: requestDeletion,
  status: readStatus,
}

/** Runs a command, and prints its output. */
export async function runSecret(args: string[]): Promise<void> {
  const { stdout, stderr, status } = await runSecretCommand(args)
  if (status !== 0) process.exitCode = status
  process.stderr.write(stderr)
  if (typeof stdout === 'string') process.stdout.write(stdout)
  else await printBytes(stdout)
}

/** Runs a command. The exit status is 1 if it failed or succeeded only partly, and 2 if the command line is wrong. */
export async function runSecretCommand(args: string[]): Promise<CommandOutput> {
  const isJson = args.includes('--json')
  try {
    const { text, json, hasFailed, bytes } = await runSubcommand(args)
    const status = hasFailed === true ? 1 : 0
    if (isJson) return { stdout: `${JSON.stringify(json)}\n`, stderr: '', status }
    return bytes === undefined ? { stdout: text, stderr: '', status } : { stdout: bytes, stderr: text, status }
  } catch (error) {
    return secretFailure(error, isJson)
  }
}

async function runSubcommand(args: string[]): Promise<SecretResult> {
  const { word, rest, options } = readCommand(args)
  if (word === 'key') return makeKeyFile(rest)
  if (rest.length > 0) throw new UsageError('secret', `secret ${word} takes nothing but options`)
  return commands[word](await openSecretCommand(options)).catch((error: unknown) => {
    throw options.key === undefined ? addKeyHint(error) : error
  })
}

/** Adds to an error about the owner, on a local chain, that another key may be needed. */
export function addKeyHint(error: unknown): unknown {
  if (error instanceof ClientError && error.code === 'not-owner')
    error.message += ". Without --key the command uses the key of this local chain; give the owner's with --key FILE"
  return error
}

async function openSecretCommand(options: SecretOptions): Promise<SecretCommand> {
  // The code for chains is only loaded after the command line was parsed.
  return (await import('./open.ts')).openCommand(options)
}

async function makeKeyFile([file, ...more]: readonly string[]): Promise<SecretResult> {
  if (file === undefined || more.length > 0)
    throw new UsageError('secret', 'vouchsafe secret key takes the file that is to be made')
  const { address } = await makeKey(file)
  const text = `The key is in ${file}; its address is ${address}. Whoever has the file can get your secrets back.\n`
  return { text, json: { file, address } }
}

async function putSecret(command: SecretCommand): Promise<SecretResult> {
  // A missing key is reported before the secret is read.
  const sharing = command.openSharing()
  const pending = await openUpload(command)
  const outcome = await upload(sharing, pending.upload)
  if (outcome.complete) pending.removeFile()
  const hint = outcome.complete ? '' : `${pending.hint}\n`
  const { continuedFrom } = pending
  const beginning =
    continuedFrom === undefined ? '' : `This went on with the upload in ${continuedFrom}; no other secret was read.\n`
  return { text: beginning + uploadText(outcome) + hint, json: uploadJson(outcome), hasFailed: !outcome.complete }
}

function uploadText({ id, complete, engines }: UploadOutcome): string {
  const lines = engines.map(({ engine, uploaded, error }) => {
    const state = uploaded
      ? 'holds its share'
      : `does not hold its share: ${error?.message ?? 'the chain does not say so yet'}`
    return `  ${evmAddress(engine.address)} ${removeControlCharacters(`${engine.endpoint} ${state}`)}\n`
  })
  return `${complete ? 'Shared' : 'Not shared with all engines'}; the id is ${id}\n${lines.join('')}`
}

function uploadJson({ id, complete, engines }: UploadOutcome) {
  const states = engines.map(({ engine, uploaded, error }) => {
    const failure = error === undefined ? {} : { error: engineJson(error) }
    return { address: engine.address, endpoint: engine.endpoint, uploaded, ...failure }
  })
  return { id, complete, engines: states }
}

async function getSecret({ openSharing, options, requireId }: SecretCommand): Promise<SecretResult> {
  const { scheme = DEFAULT_SCHEME, all: askAll } = options
  const download = await downloadSecret(openSharing(), { id: requireId(), scheme, askAll })
  const text = download.errors.map(({ message }) => `${removeControlCharacters(message)}\n`).join('')
  const failures = { engine_errors: download.errors.map(engineJson) }
  if (options.out === undefined) {
    const { secret } = download
    return { text, json: { secret: Buffer.from(secret).toString('base64'), ...failures }, bytes: secret }
  }
  writePrivate(options.out, download.secret)
  return { text: `${text}The secret is in ${options.out}\n`, json: { out: options.out, ...failures } }
}

async function requestDeletion({ openSharing, requireId }: SecretCommand): Promise<SecretResult> {
  const { gone: isDeleted } = await deleteSecret(openSharing(), requireId())
  const text = isDeleted
    ? 'Deleted: every engine has deleted its share.\n'
    : 'Deletion requested: some engines still hold their share, and will delete it when they can.\n'
  return { text, json: { id: requireId().toString(), gone: isDeleted }, hasFailed: !isDeleted }
}

async function readStatus({ client, requireId }: SecretCommand): Promise<SecretResult> {
  const state = await sharingStatus(client, requireId())
  if (state === undefined)
    throw new ClientError('unknown-sharing', `there is no sharing ${requireId()} in this contract`)
  return { text: statusText(requireId(), state), json: statusJson(requireId(), state) }
}

function statusText(
  id: bigint,
  { owner, threshold, engines, uploaded, downloadDeadline, deleting, block }: SharingState,
) {
  const isOpen = downloadDeadline !== undefined && downloadDeadline >= block.time
  return [
    `Sharing ${id} of ${evmAddress(owner)}: ${threshold} of ${engines.length} shares give the secret back.\n`,
    deleting ? 'It is being deleted.\n' : '',
    isOpen ? `Shares are given out until ${timeText(downloadDeadline)}.\n` : '',
    ...engines.map(({ address, endpoint }, at) => {
      const state = uploaded[at] === true ? 'holds its share' : 'does not hold its share'
      return `  ${evmAddress(address)} ${removeControlCharacters(`${endpoint} ${state}`)}\n`
    }),
  ].join('')
}

function statusJson(id: bigint, state: SharingState) {
  const { owner, threshold, downloadDeadline, deleting, block } = state
  const engines = state.engines.map((engine, at) => ({ ...engine, uploaded: state.uploaded[at] === true }))
  const deadline = downloadDeadline?.toISOString() ?? null
  return { id: id.toString(), owner, threshold, engines, download_deadline: deadline, deleting, block: block.number }
}

function engineJson({ engine, code, message, status: httpStatus, problem }: EngineError) {
  const details = {
    ...(httpStatus === undefined ? {} : { status: httpStatus }),
    ...(problem === undefined ? {} : { problem }),
  }
  return { engine: engine.address, endpoint: engine.endpoint, code, message, ...details }
}

function secretFailure(error: unknown, json: boolean): CommandOutput {
  const [code, engines] = error instanceof ClientError ? [error.code, error.engines] : [undefined, []]
  const failures = engines.length === 0 ? {} : { engine_errors: engines.map(engineJson) }
  return outputOfFailure(error, {
    json,
    status: 1,
    facts: { ...(code === undefined ? {} : { error: code }), ...failures },
  })
}
