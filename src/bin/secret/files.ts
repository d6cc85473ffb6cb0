/** The files of `vouchsafe secret`: keys and secrets; stdin and stdout by default. All written files are private. */
import { generateKeyPair } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { MAX_SECRET_BYTES } from '../../../sdk/client/shares.ts'
import { readIdentity } from '../../engine/engine-key.ts'
import { privateKeyPem } from '../../keys/file-signer.ts'
import { evmAddress } from '../../offchain/address.ts'
import { accountOfKey } from '../../offchain/authentication/recover.ts'
import { PRIVATE } from '../files/directory.ts'
import { commandName } from '../terminal/command-line.ts'

/** Writes a new secp256k1 key in PEM. Does not overwrite a file. */
export async function makeKey(file: string): Promise<{ readonly address: string }> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'secp256k1' })
  const pem = privateKeyPem(privateKey)
  writePrivate(file, Buffer.from(pem))
  return { address: evmAddress(accountOfKey(Uint8Array.from(readIdentity(pem).privateKey), 'evm')) }
}

/**
 * Reads a private key of 32 bytes from a file, in PEM or in hexadecimal like the keys of `vouchsafe chain`. Throws a
 * message for the user if there is none.
 */
export function readKey(file: string): Uint8Array {
  if (!existsSync(file)) {
    throw new Error(`There is no file ${resolve(file)}; a new key is made with: ${commandName()} secret key FILE`)
  }
  const text = readText(file)
  const [, digits] = /^(?:0x)?([0-9a-f]{64})$/i.exec(text.trim()) ?? []
  if (digits !== undefined) return Buffer.from(digits, 'hex')
  try {
    return readIdentity(text).privateKey
  } catch (error) {
    throw new Error(
      `${file} cannot be used as a key: ${(error as Error).message}. Make one with: ${commandName()} secret key FILE`,
      { cause: error },
    )
  }
}

/** Reads the secret from `file` or stdin. Throws a message for the user if it is too large. */
export async function readSecret(file: string | undefined): Promise<Uint8Array> {
  if (file !== undefined) return checkSecretSize(readBytes(file))
  if (process.stdin.isTTY) process.stderr.write('Type the secret, and end it with Ctrl-D on a line of its own.\n')
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length > MAX_SECRET_BYTES) break
  }
  return checkSecretSize(Buffer.concat(chunks))
}

function checkSecretSize(secret: Uint8Array): Uint8Array {
  if (secret.length > MAX_SECRET_BYTES) {
    throw new Error(`A secret has ${MAX_SECRET_BYTES} bytes at most. Encrypt what is larger, and share the key.`)
  }
  if (secret.length === 0) throw new Error('The secret is empty: nothing came from stdin, or from the file.')
  return Uint8Array.from(secret)
}

/** Writes a private file. Does not overwrite a file. */
export function writePrivate(file: string, bytes: Uint8Array): void {
  try {
    writeFileSync(file, bytes, { mode: PRIVATE, flag: 'wx' })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw new Error(`${file} is there already, and was left as it is.`, { cause: error })
    throw new Error(`${file} cannot be written (${code ?? 'unknown'}).`, { cause: error })
  }
}

export function readText(file: string): string {
  return Buffer.from(readBytes(file)).toString('utf8')
}

function readBytes(file: string): Uint8Array {
  try {
    return readFileSync(file)
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    throw new Error(`${file} cannot be read (${code}).`, { cause: error })
  }
}

/** Writes bytes to stdout. Resolves when they are written. */
export function printBytes(bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(bytes, (error) => (error ? reject(error) : resolve()))
  })
}
