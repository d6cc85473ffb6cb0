/**
 * `vouchsafe audit`: exports a copy of the audit log, and verifies a copy. The exit status is 1 if a copy is wrong, and
 * 2 if it cannot be verified.
 */
import type { KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { type CheckpointKeys, findCheckpoints, indexCheckpointKeys } from '../../audit/checkpoint.ts'
import { exportLog } from '../../audit/copy.ts'
import { type AuditReport, verifyCopy } from '../../audit/verify.ts'
import { removeControlCharacters } from '../../codec/control-characters.ts'
import { parseJsonObject } from '../../codec/json.ts'
import { readOrUndefined } from '../../codec/malformed.ts'
import { readPemCertificates } from '../../keys/certificate.ts'
import { withStore } from '../database/operator-store.ts'
import { files } from '../effects.ts'
import { commandName, readSubcommand, shellWord, UsageError } from '../terminal/command-line.ts'
import { printResult } from '../terminal/command-result.ts'

/** The maximum length of a line of a copy. */
const MAX_LINE = 1024 * 1024
const NO_COPY = `no record of an audit log is in its first lines; name a file that ${commandName()} audit export has written`

/** Runs `vouchsafe audit` with the words after it. */
export async function runAudit(args: string[]): Promise<void> {
  const { subcommand: word, rest, values } = readSubcommand('audit', args)
  const [file, ...more] = rest
  if (word === 'export' && file === undefined) return withStore(values, (store) => print(exportLog(store)))
  const unexpected = word === 'export' ? file : more[0]
  if (unexpected !== undefined) {
    throw new UsageError(
      'audit',
      `audit ${word} takes ${word === 'export' ? 'no' : 'one'} file; leave out ${unexpected}`,
    )
  }
  if (file === undefined || values.certificate.length === 0) throw new Error(missingWords(file, values.certificate))
  const keys = readKeys(values.certificate)
  const checkpoints = (await Promise.all(values.checkpoint.map(readCheckpoints))).flat()
  const seen = { object: false }
  const lines = watchLines(readLines(file), (line) => {
    seen.object ||= isJsonObject(line)
  })
  const report = await verifyCopy(lines, keys, checkpoints)
  // A copy that was emptied is still wrong if a checkpoint of it was kept.
  if (!seen.object && checkpoints.length === 0) throw new Error(`${file}: ${NO_COPY}`)
  const { vouchedFor, ...facts } = report
  const result = { text: textOf(file, report), facts: { ...facts, vouched_for: vouchedFor } }
  printResult(report.intact ? result : { ...result, status: report.problems.length > 0 ? 1 : 2 }, values.json)
}

function missingWords(file: string | undefined, certificates: readonly string[]): string {
  const missing =
    file === undefined
      ? 'the copy is missing: the file with what vouchsafe audit export has written'
      : '--certificate is missing: the file with the certificate of the key that signs the audit log. The configuration ' +
        'of the service names it, in keys.audit.certificateFiles, or else in signing.certificateFiles'
  const words = [file ?? 'copy.jsonl', '--certificate', certificates[0] ?? 'conf/issuer.pem'].map(shellWord)
  return `${missing}.\nFor example: ${commandName()} audit verify ${words.join(' ')}`
}

async function print(lines: AsyncIterable<string>): Promise<void> {
  for await (const line of lines) {
    if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain')
  }
}

function isJsonObject(line: string): boolean {
  return readOrUndefined(() => parseJsonObject(line)) !== undefined
}

/** Calls `onLine` with each line before it is read. */
async function* watchLines(lines: AsyncIterable<string>, onLine: (line: string) => void): AsyncGenerator<string> {
  for await (const line of lines) {
    onLine(line)
    yield line
  }
}

/**
 * Reads a file line by line. A line over the maximum is split, so that any file needs little memory. Throws a message
 * for the operator if the file cannot be read.
 */
async function* readLines(file: string): AsyncGenerator<string> {
  let unfinishedLine = ''
  try {
    for await (const part of createReadStream(file, 'utf8') as AsyncIterable<string>) {
      // The new part alone is split, since a long line would be copied with each part of it.
      const lines = part.split('\n')
      lines[0] = unfinishedLine + (lines[0] ?? '')
      unfinishedLine = lines.pop() ?? ''
      if (unfinishedLine.length > MAX_LINE) {
        lines.push(unfinishedLine)
        unfinishedLine = ''
      }
      for (const line of lines) yield removeCarriageReturn(line)
    }
  } catch (error) {
    refuseUnreadable(file, error)
  }
  if (unfinishedLine !== '') yield removeCarriageReturn(unfinishedLine)
}

function removeCarriageReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line
}

function readKeys(certificateFiles: readonly string[]): CheckpointKeys {
  return indexCheckpointKeys(
    certificateFiles.flatMap((file): KeyObject[] => {
      const text = readFile(file)
      try {
        return readPemCertificates(text).map(({ publicKey }) => publicKey)
      } catch (error) {
        throw new Error(`${file}: ${(error as Error).message}`, { cause: error })
      }
    }),
  )
}

/** Returns the checkpoint on the command line, or the checkpoints in the file that it names. */
async function readCheckpoints(word: string): Promise<readonly string[]> {
  const wordCheckpoints = findCheckpoints(word)
  if (wordCheckpoints.length > 0) return wordCheckpoints
  const checkpoints = new Set<string>()
  for await (const line of readLines(word)) {
    // A copy of the text, since a part of a string keeps the whole string in memory.
    for (const checkpoint of findCheckpoints(line)) checkpoints.add(Buffer.from(checkpoint).toString('latin1'))
  }
  if (checkpoints.size === 0) throw new Error(`${word}: there is no checkpoint of an audit log in it`)
  return [...checkpoints]
}

function readFile(file: string): string {
  try {
    return files.read(file)
  } catch (error) {
    return refuseUnreadable(file, error)
  }
}

function refuseUnreadable(file: string, error: unknown): never {
  const { code, message } = error as NodeJS.ErrnoException
  const why = code === 'ENOENT' ? 'there is no such file' : message
  throw new Error(`${file}: it cannot be read: ${why}`, { cause: error })
}

function textOf(file: string, report: AuditReport): string {
  const { problems, undecided, records, vouchedFor, checkpoints } = report
  const counts = `${countText(records, 'record')}, ${countText(checkpoints, 'checkpoint')}`
  const bulletList = (reasons: readonly string[]) =>
    reasons.map((reason) => `\n  - ${removeControlCharacters(reason)}`).join('')
  if (problems.length > 0) return `${file} is not intact:${bulletList(problems)}`
  if (undecided.length > 0) return `${file}: cannot tell whether it is intact:${bulletList(undecided)}`
  const unvouched = records - vouchedFor
  const unvouchedText =
    unvouched === 0 ? '' : ` The last ${unvouched} came after the last checkpoint: nobody vouches for them yet.`
  return `${file} is intact: ${counts}.${unvouchedText}`
}

function countText(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}
