/**
 * Encryption at rest: wraps a store so that the values of some collections are encrypted (AES-256-GCM with a random
 * nonce of 96 bits for each value). An encrypted value is bound to its collection and id, so that it cannot be moved to
 * another row. Ids, versions and times are not encrypted. Rows that were written before a key was configured stay
 * unencrypted until they are updated.
 */
import { createSecretKey, hash, type KeyObject } from 'node:crypto'
import { decryptText, encryptText, NONCE_BYTES } from '../codec/aes-gcm.ts'
import { toBase64url } from '../codec/base64url.ts'
import { withLazyValue } from './statements.ts'
import { type Change, commitCopies, createCollection, partOf, type Row, type Store } from './store.ts'

export interface DatabaseKey {
  /** The name of the key, which stands in each value that it encrypts. It reveals nothing of the secret. */
  readonly id: string
  readonly secret: KeyObject
}

export type EncryptionCollections = {
  /**
   * The keys that values were encrypted with, by key id. `replacedAt` is the time at which another key became the
   * current one; it is absent for the current key.
   */
  encryption_key: { readonly replacedAt?: number }
}

export const encryptionKeyCollection = createCollection('encryption_key')

export interface Encryption<C> {
  /**
   * The first key encrypts, and every key decrypts. Without keys nothing is encrypted, and a database whose keys are
   * registered is refused.
   */
  readonly keys: readonly DatabaseKey[]
  readonly collections: readonly (keyof C & string)[]
  readonly random: (bytes: number) => Uint8Array
  readonly now: Date
  /** The longest time for which a value is stored. A key that was replaced longer ago than that may be absent. */
  readonly retentionMs: number
  /**
   * Whether an unencrypted value in an encrypted collection is refused. Set where the database has had a key from the
   * beginning.
   */
  readonly refusesPlaintext?: boolean
}

/** The error for a database with values that none of the keys can decrypt. The message names the missing key. */
export class MissingKeyError extends Error {
  override readonly name = 'MissingKeyError'
}

/** Makes a database key from its 32 secret bytes. The id of the key is derived from the bytes by a hash. */
export function makeDatabaseKey(bytes: Uint8Array): DatabaseKey {
  const digest = hash('sha256', Buffer.concat([Buffer.from('vouchsafe database key\0'), bytes]), 'base64url')
  return { id: digest.slice(0, 12), secret: createSecretKey(bytes) }
}

/**
 * Wraps a store so that it encrypts and decrypts values, and registers the keys in the database. Returns the store
 * itself when there are no keys. Throws a {@link MissingKeyError} when a registered key is missing and still needed.
 */
export async function encryptStore<C extends EncryptionCollections>(
  store: Store<C>,
  encryption: Encryption<C>,
): Promise<Store<C>> {
  await registerKeys(partOf<C, EncryptionCollections>(store), encryption)
  const [current] = encryption.keys
  return current === undefined ? store : encryptValues(store, current, encryption)
}

async function registerKeys(
  store: Store<EncryptionCollections>,
  { keys, now, retentionMs }: Pick<Encryption<never>, 'keys' | 'now' | 'retentionMs'>,
): Promise<void> {
  const [current] = keys
  const rows = await store.list('encryption_key')
  const problem = missingKeyProblem(rows, { keys, now, retentionMs })
  if (problem !== undefined) throw new MissingKeyError(problem)
  if (current === undefined) return
  for (const id of new Set([current.id, ...rows.map((each) => each.id)])) await registerKey(store, id, current, now)
}

/**
 * Returns a sentence for the operator when a registered key is missing and stored values may still need it; else
 * undefined.
 */
export function missingKeyProblem(
  rows: readonly { readonly id: string; readonly value: EncryptionCollections['encryption_key'] }[],
  { keys, now, retentionMs }: Pick<Encryption<never>, 'keys' | 'now' | 'retentionMs'>,
): string | undefined {
  const missing = rows
    .filter(({ id }) => !keys.some((key) => key.id === id))
    .map(({ id, value: { replacedAt } }) => ({
      id,
      until: replacedAt === undefined ? Infinity : replacedAt + retentionMs,
    }))
    .find(({ until }) => now.getTime() < until)
  return missing && problemText(missing.id, keys.length, missing.until)
}

function problemText(id: string, count: number, neededUntil: number): string {
  const until = neededUntil === Infinity ? '' : `, which is needed until ${new Date(neededUntil).toISOString()}`
  if (count === 0) return `the database is encrypted; name the file with its key ${id}${until}`
  return `the database is encrypted with the key ${id}, which is not in this file; add its line${until}`
}

/**
 * Registers a key in the database: without `replacedAt` if it is the current key, else with the time at which another
 * key replaced it.
 */
async function registerKey(
  store: Store<EncryptionCollections>,
  id: string,
  current: DatabaseKey,
  now: Date,
): Promise<void> {
  await store.commit([{ insert: 'encryption_key', id, value: {} }])
  const row = await store.get('encryption_key', id)
  if (row === undefined || (id === current.id) === (row.value.replacedAt === undefined)) return
  const value = id === current.id ? {} : { replacedAt: now.getTime() }
  await store.commit([{ update: 'encryption_key', id, version: row.version, value }])
}

/** The members that a change of any kind may have. */
interface ChangeMembers {
  readonly insert?: string
  readonly update?: string
  readonly id: string
  readonly value?: unknown
}

/**
 * Makes the functions that encrypt and decrypt the values of encrypted collections. Both leave other collections
 * unchanged.
 */
function createValueCipher<C>(
  current: DatabaseKey,
  { keys, collections, random, refusesPlaintext = false }: Encryption<C>,
): {
  readonly decryptValue: <T>(collection: string, id: string, value: T) => T
  readonly encryptChange: (change: Change<C>) => Change<C>
} {
  const isEncrypted = (collection: string): boolean => collections.some((each) => each === collection)
  return {
    decryptValue: <T>(collection: string, id: string, value: T): T => {
      if (!isEncrypted(collection)) return value
      if (typeof value === 'string') return decrypt(keys, `${collection}\0${id}`, value) as T
      if (refusesPlaintext)
        throw new Error(`a value in ${collection} is in the clear: it was not written by this service`)
      return value
    },
    encryptChange: (change) => {
      const { insert, update, id, value } = change as ChangeMembers
      const collection = insert ?? update
      if (collection === undefined || !isEncrypted(collection)) return change
      return { ...change, value: encrypt(current, `${collection}\0${id}`, value, random) } as Change<C>
    },
  }
}

function encryptValues<C>(store: Store<C>, current: DatabaseKey, encryption: Encryption<C>): Store<C> {
  const { decryptValue, encryptChange } = createValueCipher(current, encryption)
  return {
    ...store,
    get: async (collection, id) => {
      const row = await store.get(collection, id)
      return row && ({ ...row, value: decryptValue(collection, id, row.value) } satisfies Row<unknown>)
    },
    list: async (collection) =>
      (await store.list(collection)).map(({ id, value }) => ({ id, value: decryptValue(collection, id, value) })),
    listDue: async (collection, now, limit, after) =>
      (await store.listDue(collection, now, limit, after)).map((row) => {
        const { id, version } = row
        return withLazyValue({ id, version }, () => decryptValue(collection, id, row.value))
      }),
    listNewest: async (collection, limit, after) =>
      (await store.listNewest(collection, limit, after)).map((row) => {
        const { id, createdAt } = row
        return withLazyValue({ id, createdAt }, () => decryptValue(collection, id, row.value))
      }),
    commit: (changes) => commitCopies(store, changes, encryptChange),
  }
}

/**
 * Encrypts a value to a string; unencrypted values are objects or null, so the type of a stored value tells whether it
 * is encrypted. The string is the id of the key, a dot, and nonce, ciphertext and tag in base64url. `context` names the
 * row that the string is bound to.
 */
function encrypt(key: DatabaseKey, context: string, value: unknown, random: (bytes: number) => Uint8Array): string {
  const bytes = encryptText({ secret: key.secret, context }, random(NONCE_BYTES), JSON.stringify(value))
  return `${key.id}.${toBase64url(bytes)}`
}

function decrypt(keys: readonly DatabaseKey[], context: string, encryptedText: string): unknown {
  const [id, body = ''] = encryptedText.split('.')
  const key = keys.find((each) => each.id === id)
  if (key === undefined) throw new Error('a value is encrypted with a key that is not in database.encryptionKeyFile')
  return JSON.parse(decryptText({ secret: key.secret, context }, Buffer.from(body, 'base64url')))
}
