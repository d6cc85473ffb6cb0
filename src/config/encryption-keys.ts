/** `database.encryptionKeyFile`: keys of 32 random bytes, one a line. The first encrypts, all decrypt. */
import type { Files } from './files.ts'

const SETTING = 'database.encryptionKeyFile'
const KEY_BYTES = 32
/** Of 32 random bytes, hardly ever fewer than 24 are different. */
const MIN_DIFFERENT_BYTES = 16
const HOW = 'make one with: openssl rand -base64 32'

export type ReadEncryptionKeys = { readonly keys: readonly Uint8Array[] } | { readonly mistakes: readonly string[] }

/** The keys of the file, none when there is no file to read, or what is wrong with it, by line and without its contents. */
export function readEncryptionKeys(path: string | undefined, files: Files): ReadEncryptionKeys {
  if (path === undefined) return { keys: [] }
  let text: string
  try {
    text = files.read(path)
  } catch {
    return { mistakes: [`${SETTING}: ${path} cannot be read; ${HOW}`] }
  }
  const lines = text.split(/\r?\n/).map((line, index) => ({ text: line.trim(), at: `line ${index + 1}` }))
  const written = lines.filter((line) => line.text !== '')
  if (written.length === 0) return { mistakes: [`${SETTING}: ${path} has no key; ${HOW}`] }
  const keys = written.map((line) => Buffer.from(line.text, 'base64url'))
  const mistakes = written.flatMap((line, index) => {
    const problem = problemOf(line.text, keys[index] as Buffer, keys.slice(0, index))
    return problem === undefined ? [] : [`${SETTING}: ${path}, ${line.at}: ${problem}`]
  })
  return mistakes.length > 0 ? { mistakes } : { keys }
}

function problemOf(text: string, key: Buffer, before: readonly Buffer[]): string | undefined {
  // Base64 or base64url, and all of it: a character that a decoder would pass over is a mistake.
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text) || key.length !== KEY_BYTES) {
    return `it must be ${KEY_BYTES} bytes in base64 or base64url; ${HOW}`
  }
  if (new Set(key).size < MIN_DIFFERENT_BYTES || key.every((byte) => byte >= 0x20 && byte < 0x7f)) {
    return `it is not random; ${HOW}`
  }
  return before.some((each) => each.equals(key)) ? 'the same key stands there twice' : undefined
}
