/** `vouchsafe status-list export`: writes the status lists of an issuer as files, and an index for the next export. */
import { existsSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseJsonObject } from '../../codec/json.ts'
import { isListPath, listPublishedLists, type PublishedListFile } from '../../issuer/status-list/export.ts'
import { createKeyRing } from '../../keys/key-ring.ts'
import { withIssuer } from '../database/operator-store.ts'
import { now, pkcs11Tokens } from '../effects.ts'
import { makeDirectory, PRIVATE } from '../files/directory.ts'
import { flushToDisk } from '../files/flush-to-disk.ts'
import type { CommandResult } from '../terminal/command-result.ts'

interface ExportResult {
  readonly written: readonly string[]
  readonly unchanged: number
  readonly removed: readonly string[]
  readonly ttlSeconds: number
}

/** Exports the lists of the issuer with this configuration into a directory. */
export async function exportLists(configFile: string, directory: string): Promise<CommandResult> {
  // Status lists are public, and the web server runs as another user.
  process.umask(0o022)
  const result = await withIssuer(configFile, async (store, config) => {
    const context = { store, config, keys: createKeyRing(config.keys, pkcs11Tokens), now }
    return {
      ...(await writeLists(directory, await listPublishedLists(context))),
      ttlSeconds: config.statusList.ttlSeconds,
    }
  })
  const { ttlSeconds, ...counts } = result
  return { text: textOf(directory, result), facts: { ...counts, ttl_seconds: ttlSeconds } }
}

/**
 * Writes the files of changed lists, each also compressed, removes those of deleted lists, and then writes the index:
 * the entity tag of each file, by which the next export finds changed lists. The index is private, since it has all
 * lists of the issuer. It is written with each export, so that its time is that of the last one. Throws, and writes
 * nothing, if the index has lists and the database has none of them, since this is probably another database.
 */
async function writeLists(
  directory: string,
  lists: readonly PublishedListFile[],
): Promise<Omit<ExportResult, 'ttlSeconds'>> {
  const index = `${resolve(directory)}.index.json`
  const previousTags = readIndex(index)
  const tags = Object.fromEntries(lists.map(({ path, etag }) => [path, etag]))
  const previousPaths = [...previousTags.keys()].filter(isListPath)
  const removedPaths = previousPaths.filter((path) => !Object.hasOwn(tags, path))
  if (removedPaths.length > 0 && removedPaths.length === previousPaths.length) {
    throw new Error(
      `the database has none of the status lists in ${directory}: is it the database of this issuer? Nothing was changed; if it is, remove ${index}, and export again`,
    )
  }
  // A web server finds the directory also while the issuer has no list.
  writeOrName(directory, () => makeDirectory(directory, 0o755))
  const writtenPaths: string[] = []
  for (const { path, etag, makeDocument } of lists) {
    const file = join(directory, path)
    if (previousTags.get(path) === etag && existsSync(file) && existsSync(`${file}.gz`)) continue
    replaceAtomically(file, await makeDocument('identity'), 0o644)
    replaceAtomically(`${file}.gz`, await makeDocument('gzip'), 0o644)
    writtenPaths.push(path)
  }
  for (const path of removedPaths) removeList(directory, path)
  // The index is written last, so that the next export repeats an interrupted one.
  replaceAtomically(index, Buffer.from(`${JSON.stringify(tags, null, 2)}\n`), PRIVATE)
  return { written: writtenPaths, unchanged: lists.length - writtenPaths.length, removed: removedPaths }
}

/** Removes the files of a list, and the folder of its id if nothing else is in the folder. */
function removeList(directory: string, path: string): void {
  const file = join(directory, path)
  for (const each of [file, `${file}.gz`]) rmSync(each, { force: true })
  if (path.includes('/')) removeDirectoryIfEmpty(dirname(file))
}

function removeDirectoryIfEmpty(directory: string): void {
  try {
    rmdirSync(directory)
  } catch (error) {
    if (!['ENOTEMPTY', 'ENOENT', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

/** Returns the tags of the previous export; empty if the index is missing or invalid, so that all files are written. */
function readIndex(file: string): ReadonlyMap<string, unknown> {
  try {
    return new Map(Object.entries(parseJsonObject(readFileSync(file, 'utf8'))))
  } catch {
    return new Map()
  }
}

/** Replaces a file atomically, so that a web server never reads an incomplete one. */
function replaceAtomically(file: string, bytes: Uint8Array, mode: number): void {
  const temporary = `${file}.${process.pid}.tmp`
  writeOrName(file, () => {
    try {
      makeDirectory(dirname(file), 0o755)
      writeFileSync(temporary, bytes, { mode })
      flushToDisk(temporary)
      renameSync(temporary, file)
    } finally {
      if (existsSync(temporary)) rmSync(temporary)
    }
  })
}

/** Runs `write`, whose errors name the path. */
function writeOrName(path: string, write: () => void): void {
  try {
    write()
  } catch (cause) {
    throw new Error(`${path}: it cannot be written: ${(cause as Error).message}`, { cause })
  }
}

function textOf(directory: string, { written, unchanged, removed, ttlSeconds }: ExportResult): string {
  const counts = `${written.length} written, ${unchanged} as they were, ${removed.length} removed`
  return `Status lists in ${directory}: ${counts}. Export again within ${ttlSeconds} seconds.`
}
