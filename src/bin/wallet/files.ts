/** The directory of the wallet: a private file for each credential and each authorization, replaced atomically. */
import { readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type JsonObject, memberOf, parseJsonObject, stringMemberOf } from '../../codec/json.ts'
import { readJws } from '../../codec/jws.ts'
import { malformed } from '../../codec/malformed.ts'
import { createSigner } from '../../keys/file-signer.ts'
import { importPrivateKey } from '../../keys/private-jwk.ts'
import type { TextStore, WalletAttestation, WalletStore } from '../../wallet/context.ts'
import { readOrRefuseWith } from '../../wallet/error.ts'
import { createJwkHolderKeys } from '../../wallet/holder-key.ts'
import { random } from '../effects.ts'
import { makeDirectory, PRIVATE } from '../files/directory.ts'
import { writeDurably } from '../files/flush-to-disk.ts'

/** An attestation, and the directory of the test provider that made it. */
export interface StoredAttestation extends WalletAttestation {
  readonly provider: string | undefined
}

const SUFFIX = '.json'
const ATTESTATION_FILE = 'wallet-attestation.json'

/** Creates the store of the wallet in the directory `home`. */
export function walletFiles(home: string): WalletStore {
  return {
    ...textFiles(join(home, 'credentials')),
    keys: createJwkHolderKeys(random),
    authorizations: textFiles(join(home, 'authorizations')),
  }
}

function textFiles(directory: string): TextStore {
  return {
    list: async () => {
      const names = await readdir(directory).catch(returnEmptyIfMissing)
      // A name with a leading dot is an incomplete write.
      const credentialFiles = names.filter((name) => name.endsWith(SUFFIX) && !name.startsWith('.'))
      return credentialFiles.map((name) => name.slice(0, -SUFFIX.length)).sort()
    },
    read: (name) => readFile(join(directory, name + SUFFIX), 'utf8'),
    write: (name, text) => replaceText(directory, name + SUFFIX, text),
    remove: (name) => rm(join(directory, name + SUFFIX), { force: true }),
  }
}

/** Replaces the attestation of the wallet. */
export async function writeAttestationFile(home: string, text: string): Promise<void> {
  await replaceText(home, ATTESTATION_FILE, text)
}

/** Returns the text of the attestation file; undefined if there is none. */
export function readAttestationText(home: string): Promise<string | undefined> {
  return readFile(join(home, ATTESTATION_FILE), 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  })
}

/** Reads the attestation of the wallet; undefined if there is none. */
export async function readAttestationFile(home: string): Promise<StoredAttestation | undefined> {
  const text = await readAttestationText(home)
  if (text === undefined) return undefined
  const what = `${join(home, ATTESTATION_FILE)} is not a wallet attestation with its key`
  return readOrRefuseWith('unsupported', what, () => readWalletAttestation(text))
}

/**
 * Parses `{"attestation": JWT, "key": private JWK, "provider": directory}`; `provider` is present if a test provider
 * made the attestation. Throws a MalformedError if it is invalid.
 */
function readWalletAttestation(text: string): StoredAttestation {
  const storedAttestation = parseJsonObject(text)
  const jwt = stringMemberOf(storedAttestation, 'attestation') ?? malformed('it has no attestation')
  readJws(jwt)
  const key = createSigner(importPrivateKey((memberOf(storedAttestation, 'key') ?? {}) as JsonObject), [])
  return { jwt, key, provider: stringMemberOf(storedAttestation, 'provider') }
}

/** Replaces a file atomically. */
async function replaceText(directory: string, file: string, text: string): Promise<void> {
  makeDirectory(directory, 0o700)
  const temporary = join(directory, `.${file}.${Buffer.from(random(6)).toString('hex')}`)
  try {
    await writeDurably(temporary, text, PRIVATE)
    await rename(temporary, join(directory, file))
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

function returnEmptyIfMissing(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return []
  throw error
}
