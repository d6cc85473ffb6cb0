/** Tells whether a port is in use by the very service that the doctor examines, as Linux alone says it. proc(5). */
import { readdirSync, readFileSync, readlinkSync, type Stats, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { CONFIG_FILE } from '../command-table/command.ts'
import { isSameFile } from '../files/same-file.ts'
import type { ServiceName } from '../service/service-kind.ts'

/** The state of a listening socket in `/proc/net/tcp`. */
const LISTENING = '0A'

/** A service by its name and its configuration file, of the working directory of this process. */
export interface ServiceStart {
  readonly service: ServiceName
  readonly configFile: string
}

/**
 * Tests whether all listeners at a port are processes that were started in this working directory, as the same service
 * and with the same configuration file, by this user or the owner of that file. Returns false where that cannot be
 * known.
 */
export function isOwnListener(port: number, started: ServiceStart): boolean {
  const listeners = findListeners(port)
  if (listeners.length === 0) return false
  const processes = readOrNothing(() => readdirSync('/proc')).filter((name) => /^\d+$/.test(name))
  const ownSockets = new Set(processes.filter((id) => isStartedAs(id, started)).flatMap(findSockets))
  return listeners.every((socket) => ownSockets.has(socket))
}

/** Returns the sockets that listen at a port on any address, as links of `/proc` name them. */
function findListeners(port: number): string[] {
  const ending = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return ['tcp', 'tcp6']
    .flatMap((table) => readOrNothing(() => readFileSync(`/proc/net/${table}`, 'utf8').split('\n')))
    .flatMap((line) => {
      const [, address, , state, , , , , , inode] = line.trim().split(/\s+/)
      return state === LISTENING && address?.endsWith(ending) ? [`socket:[${inode}]`] : []
    })
}

function isStartedAs(id: string, { service, configFile }: ServiceStart): boolean {
  // Two containers may have different directories of one name.
  if (!isOfTrustedUser(id, configFile) || !isSameFile(`/proc/${id}/cwd`, '.')) return false
  const words = readOrNothing(() => readFileSync(`/proc/${id}/cmdline`, 'utf8').split('\0')).slice(0, -1)
  const at = words.indexOf(service)
  if (at < 1 || !/(^|\/)vouchsafe(\.cjs)?$/.test(words[at - 1] ?? '')) return false
  const options = { config: { type: 'string', default: CONFIG_FILE } } as const
  // This is not strict, since wrong words are for that process to refuse.
  const { config } = parseArgs({ args: words.slice(at + 1), strict: false, options }).values
  return resolve(String(config)) === resolve(configFile)
}

/** Tests whether a process is of this user, or of the user whose the configuration file is. */
function isOfTrustedUser(id: string, configFile: string): boolean {
  const uid = statOf(`/proc/${id}`)?.uid
  return uid !== undefined && [process.getuid?.(), statOf(configFile)?.uid].includes(uid)
}

function statOf(path: string): Stats | undefined {
  return readOrNothing(() => [statSync(path)])[0]
}

function findSockets(id: string): string[] {
  const directory = `/proc/${id}/fd`
  return readOrNothing(() => readdirSync(directory)).flatMap((name) =>
    readOrNothing(() => [readlinkSync(join(directory, name))]),
  )
}

/** Returns what `read` returns; an empty list where `/proc` does not exist, or this user may not read in it. */
function readOrNothing<T>(read: () => T[]): T[] {
  try {
    return read()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
    return []
  }
}
