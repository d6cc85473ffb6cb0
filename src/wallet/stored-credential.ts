/** Stored credentials: each with its key in one text, which is checked whenever it is read. */
import { hash } from 'node:crypto'
import { isObject, type Json, type JsonObject, own, ownString, parseJsonObject } from '../codec/json.ts'
import { MalformedError, malformed } from '../codec/malformed.ts'
import type { ClaimPosition } from '../codec/sd-jwt.ts'
import { lastStart } from '../credential/evidence.ts'
import { formatOf } from '../credential/formats.ts'
import { type Certificate, parseCertificate } from '../keys/certificate.ts'
import type { Signer } from '../keys/signer.ts'
import type { HolderKey, HolderKeys, WalletContext, WalletStore } from './context.ts'
import { abort } from './error.ts'
import type { ClaimName } from './issuer-metadata.ts'

export interface StoredCredential {
  /** The beginning of the credential's hash: stable, and short enough to type. */
  readonly id: string
  /** The name for people. */
  readonly name: string
  /** The way to draw it that its issuer described. */
  readonly display: JsonObject | undefined
  readonly format: string
  readonly types: readonly string[]
  readonly claims: JsonObject
  /** The members at the root of `claims` that are not about the subject. */
  readonly envelope: readonly string[]
  readonly claimNames: readonly ClaimName[]
  /** The issuer according to the credential or its certificate, and the name in the issuer's metadata. */
  readonly issuer: string
  readonly issuerName: string | undefined
  readonly receivedAt: Date
  readonly validFrom: Date | undefined
  readonly expiresAt: Date | undefined
  /** The positions of hidable claims, parents before children. */
  readonly hidable: readonly ClaimPosition[]
  /** The certificate of the key that signed the credential, verified at receipt; undefined when none came with it. */
  readonly issuerCertificate: Certificate | undefined
  /** The certificates that came with the credential (DER), the issuer's own first. */
  readonly chain: readonly Uint8Array[]
  /** The credential as it was issued. */
  readonly credential: string
  /** Signs with the key to which the credential is bound. */
  readonly holder: Signer
}

/** The stored members; everything else follows from the credential. */
export interface NewCredential {
  readonly name: string
  readonly display: JsonObject | undefined
  readonly format: string
  readonly credential: string
  readonly claimNames: readonly ClaimName[]
  readonly issuerName: string | undefined
  readonly receivedAt: Date
  readonly holderKey: HolderKey
}

export interface Unreadable {
  readonly id: string
  readonly problem: string
}

const ID_CHARACTERS = 10

export async function storeCredential({ store }: WalletContext, received: NewCredential): Promise<StoredCredential> {
  const id = idOf(received.credential)
  const record = {
    name: received.name,
    display: received.display,
    format: received.format,
    credential: received.credential,
    holder_key: received.holderKey.stored,
    issuer_name: received.issuerName,
    claim_names: received.claimNames,
    received_at: received.receivedAt.toISOString(),
  }
  await store.write(id, `${JSON.stringify(record, null, 2)}\n`)
  return readStored(id, await store.read(id), store.keys)
}

/** Lists every credential, the newest first, and those that cannot be read with the reason. Changes nothing. */
export async function listCredentials(
  store: WalletStore,
): Promise<{ readonly credentials: readonly StoredCredential[]; readonly unreadable: readonly Unreadable[] }> {
  const credentials: StoredCredential[] = []
  const unreadable: Unreadable[] = []
  for (const id of await store.list()) {
    try {
      credentials.push(await readStored(id, await store.read(id), store.keys))
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error
      unreadable.push({ id, problem: error.message })
    }
  }
  credentials.sort((a, b) => b.receivedAt.getTime() - a.receivedAt.getTime() || (a.id < b.id ? -1 : 1))
  return { credentials, unreadable }
}

/** Finds the credential whose id begins with `prefix`. Refuses with `not_found` or `unreadable_credential`. */
export async function findCredential(store: WalletStore, prefix: string): Promise<StoredCredential> {
  const [id, ...more] = (await store.list()).filter((name) => name.startsWith(prefix))
  if (id === undefined || prefix === '') return abort('not_found', `the wallet has no credential ${prefix}`)
  if (more.length > 0) abort('not_found', `${more.length + 1} credentials begin with ${prefix}; give more of the id`)
  const text = await store.read(id)
  return readStored(id, text, store.keys).catch((error: unknown) => {
    if (!(error instanceof MalformedError)) throw error
    return abort('unreadable_credential', `credential ${id} is damaged and was left as it is: ${error.message}`)
  })
}

async function readStored(id: string, text: string, keys: HolderKeys): Promise<StoredCredential> {
  const record = parseJsonObject(text)
  const credential = ownString(record, 'credential') ?? malformed('it has no credential')
  if (idOf(credential) !== id) malformed('the credential is not the one that was stored under this id')
  const format = ownString(record, 'format') ?? ''
  const plugin = formatOf(format) ?? malformed(`its format ${JSON.stringify(format)} is unknown`)
  const { claims, envelope, types, expiresAt, issuer, boundKey, validity, hidable } = plugin.hold(credential)
  const [holderKey, display] = [own(record, 'holder_key'), own(record, 'display')]
  const holder = await keys.open(isObject(holderKey) ? holderKey : malformed('it has no holder key'))
  const [leaf] = issuer.chain
  const issuerCertificate = leaf && parseCertificate(leaf)
  if ('problem' in boundKey || boundKey.thumbprint !== holder.kid) malformed('its key is not the one it is bound to')
  return {
    id,
    name: ownString(record, 'name') ?? 'Credential',
    display: isObject(display) ? display : undefined,
    format,
    types,
    claims,
    envelope,
    claimNames: (own(record, 'claim_names') ?? []) as unknown as readonly ClaimName[],
    issuer: issuer.identifiers[0] ?? issuerCertificate?.subjectText ?? '',
    issuerName: ownString(record, 'issuer_name'),
    receivedAt: dateOf(own(record, 'received_at')),
    validFrom: lastStart(validity),
    expiresAt,
    hidable,
    issuerCertificate,
    chain: issuer.chain,
    credential,
    holder,
  }
}

function dateOf(value: Json | undefined): Date {
  const date = new Date(typeof value === 'string' ? value : Number.NaN)
  return Number.isNaN(date.getTime()) ? malformed('it does not say when it was received') : date
}

function idOf(credential: string): string {
  return hash('sha256', credential, 'hex').slice(0, ID_CHARACTERS)
}
