/** Stored credentials. Each has its copies and their keys in one text, which is validated when it is read. */
import { hash } from 'node:crypto'
import { isObject, type Json, type JsonObject, memberOf, parseJsonObject, stringMemberOf } from '../codec/json.ts'
import { MalformedError, malformed } from '../codec/malformed.ts'
import type { ClaimPosition } from '../codec/sd-jwt.ts'
import { latestStart } from '../credential/evidence.ts'
import { formatOf } from '../credential/formats.ts'
import { type Certificate, parseCertificate } from '../keys/certificate.ts'
import type { Signer } from '../keys/signer.ts'
import { isClaimPath } from '../protocol/claim-path.ts'
import type { HolderKey, HolderKeys, WalletContext, WalletStore } from './context.ts'
import { refuseMalformedWith, refuseWith } from './error.ts'
import type { ClaimName } from './issuer-metadata.ts'

export interface StoredCredential {
  /** The first characters of the credential's hash. */
  readonly id: string
  /** The name of the credential for people. */
  readonly name: string
  /** The display description of the issuer. */
  readonly display: JsonObject | undefined
  readonly format: string
  readonly types: readonly string[]
  readonly claims: JsonObject
  /** The top-level members of `claims` that are not about the subject. */
  readonly securingMembers: readonly string[]
  readonly claimNames: readonly ClaimName[]
  /** The issuer according to the credential or its certificate, and its name in the metadata. */
  readonly issuer: string
  readonly issuerName: string | undefined
  readonly receivedAt: Date
  readonly validFrom: Date | undefined
  readonly expiresAt: Date | undefined
  /** The positions of selectively disclosable claims; parents come before children. */
  readonly disclosable: readonly ClaimPosition[]
  /**
   * The certificate of the signing key, which was verified when the credential was received; undefined if there was
   * none.
   */
  readonly issuerCertificate: Certificate | undefined
  /** The certificates in the credential (DER), the issuer's own first. */
  readonly chain: readonly Uint8Array[]
  /** The copy to present next, as it was issued. */
  readonly credential: string
  /** The signer for the key of that copy. */
  readonly holder: Signer
  /** The number of copies, which differ only in their keys, and of those that were not presented yet. */
  readonly copies: { readonly all: number; readonly unseen: number }
  /** How to get new copies, if that is possible. */
  readonly source: CredentialSource | undefined
}

/** The authorization for new copies. */
export interface CredentialSource {
  readonly configurationId: string
  /** The name of the stored authorization. */
  readonly authorization: string
}

/** A credential of a batch, and its key. */
export interface CredentialCopy {
  readonly credential: string
  readonly holderKey: HolderKey
}

/** The stored members. Everything else is computed from the credential. */
export interface NewCredential {
  readonly name: string
  readonly display: JsonObject | undefined
  readonly format: string
  readonly copies: readonly [CredentialCopy, ...CredentialCopy[]]
  readonly claimNames: readonly ClaimName[]
  readonly issuerName: string | undefined
  readonly receivedAt: Date
  readonly source: CredentialSource | undefined
}

export interface UnreadableCredential {
  readonly id: string
  readonly problem: string
}

const ID_CHARACTERS = 10

/** Stores a credential with its copies and their keys. */
export async function storeCredential(
  { store }: WalletContext,
  newCredential: NewCredential,
): Promise<StoredCredential> {
  const { source } = newCredential
  const [first, ...moreCopies] = newCredential.copies.map(({ credential, holderKey }) => ({
    credential,
    holder_key: holderKey.keyRecord,
  }))
  const id = idOf(newCredential.copies[0].credential)
  const record = {
    name: newCredential.name,
    display: newCredential.display,
    format: newCredential.format,
    ...first,
    ...(moreCopies.length > 0 && { more_copies: moreCopies }),
    ...(source && { source: { configuration_id: source.configurationId, authorization: source.authorization } }),
    issuer_name: newCredential.issuerName,
    claim_names: newCredential.claimNames,
    received_at: newCredential.receivedAt.toISOString(),
  }
  await store.write(id, `${JSON.stringify(record, null, 2)}\n`)
  return readStoredCredential(id, await store.read(id), store.keys)
}

/** Records that the next copy is being presented, so that another one is used after it. */
export async function recordPresentation(store: WalletStore, { id, copies }: StoredCredential): Promise<void> {
  if (copies.all === 1) return
  const record = parseJsonObject(await store.read(id))
  await store.write(id, `${JSON.stringify({ ...record, presented: readPresentationCount(record) + 1 }, null, 2)}\n`)
}

/** Returns all credentials, the newest first, and those that cannot be read, with the reason. Changes nothing. */
export async function listCredentials(store: WalletStore): Promise<{
  readonly credentials: readonly StoredCredential[]
  readonly unreadable: readonly UnreadableCredential[]
}> {
  const credentials: StoredCredential[] = []
  const unreadable: UnreadableCredential[] = []
  for (const id of await store.list()) {
    try {
      credentials.push(await readStoredCredential(id, await store.read(id), store.keys))
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error
      unreadable.push({ id, problem: error.message })
    }
  }
  credentials.sort((a, b) => b.receivedAt.getTime() - a.receivedAt.getTime() || (a.id < b.id ? -1 : 1))
  return { credentials, unreadable }
}

/** Returns the credential whose id begins with `prefix`. Refuses with `not_found` or `unreadable_credential`. */
export async function requireCredential(store: WalletStore, prefix: string): Promise<StoredCredential> {
  const [id, ...others] = (await store.list()).filter((name) => name.startsWith(prefix))
  if (id === undefined || prefix === '') return refuseWith('not_found', `the wallet has no credential ${prefix}`)
  if (others.length > 0)
    refuseWith('not_found', `${others.length + 1} credentials begin with ${prefix}; give more of the id`)
  const text = await store.read(id)
  return readStoredCredential(id, text, store.keys).catch((error: unknown) =>
    refuseMalformedWith('unreadable_credential', `credential ${id} is damaged and was left as it is`, error),
  )
}

async function readStoredCredential(id: string, text: string, keys: HolderKeys): Promise<StoredCredential> {
  const record = parseJsonObject(text)
  const first = stringMemberOf(record, 'credential') ?? malformed('it has no credential')
  if (idOf(first) !== id) malformed('the credential is not the one that was stored under this id')
  const all = copiesOf(record)
  const presentationCount = readPresentationCount(record)
  // After all copies were presented, the one presented longest ago is used.
  const copy = all[presentationCount % all.length] ?? record
  const credential = stringMemberOf(copy, 'credential') ?? malformed('one of its copies has no credential')
  const format = stringMemberOf(record, 'format') ?? ''
  const plugin = formatOf(format) ?? malformed(`its format ${JSON.stringify(format)} is unknown`)
  const { claims, securingMembers, types, expiresAt, issuer, boundKey, validity, disclosable } =
    plugin.readHeld(credential)
  const [holderKey, display] = [memberOf(copy, 'holder_key'), memberOf(record, 'display')]
  const holder = await keys.open(isObject(holderKey) ? holderKey : malformed('it has no holder key'))
  const [leaf] = issuer.chain
  const issuerCertificate = leaf && parseCertificate(leaf)
  if ('problem' in boundKey || boundKey.thumbprint !== holder.kid) malformed('its key is not the one it is bound to')
  return {
    id,
    name: stringMemberOf(record, 'name') ?? 'Credential',
    display: isObject(display) ? display : undefined,
    format,
    types,
    claims,
    securingMembers,
    claimNames: readClaimNames(memberOf(record, 'claim_names') ?? []),
    issuer: issuer.identifiers[0] ?? issuerCertificate?.subjectText ?? '',
    issuerName: stringMemberOf(record, 'issuer_name'),
    receivedAt: dateOf(memberOf(record, 'received_at')),
    validFrom: latestStart(validity),
    expiresAt,
    disclosable,
    issuerCertificate,
    chain: issuer.chain,
    credential,
    holder,
    copies: { all: all.length, unseen: Math.max(0, all.length - presentationCount) },
    source: sourceOf(record),
  }
}

function readClaimNames(names: Json): readonly ClaimName[] {
  if (!Array.isArray(names)) return malformed('its claim names are not a list')
  return names.map((claimName, index) => {
    const [path, name] = [memberOf(claimName, 'path'), stringMemberOf(claimName, 'name')]
    if (isClaimPath(path) && name !== undefined) return { path, name }
    return malformed(`its claim name ${index} has no path to a claim or no name`)
  })
}

/**
 * Returns the copies in the order of their use. A copy is an object with `credential` and `holder_key`, like the
 * record.
 */
function copiesOf(record: JsonObject): readonly JsonObject[] {
  const more = memberOf(record, 'more_copies') ?? []
  const copies = Array.isArray(more) ? more.filter(isObject) : []
  if (!Array.isArray(more) || copies.length < more.length) malformed('its copies cannot be read')
  return [record, ...copies]
}

function readPresentationCount(record: JsonObject): number {
  const presentationCount = memberOf(record, 'presented') ?? 0
  if (typeof presentationCount === 'number' && Number.isInteger(presentationCount) && presentationCount >= 0)
    return presentationCount
  return malformed('it does not say how often it was presented')
}

function sourceOf(record: JsonObject): CredentialSource | undefined {
  const source = memberOf(record, 'source')
  const names = ['configuration_id', 'authorization'].map((name) => memberOf(source, name))
  const [configurationId, authorization] = names
  if (typeof configurationId !== 'string' || typeof authorization !== 'string') return undefined
  return { configurationId, authorization }
}

function dateOf(value: Json | undefined): Date {
  const date = new Date(typeof value === 'string' ? value : Number.NaN)
  return Number.isNaN(date.getTime()) ? malformed('it does not say when it was received') : date
}

function idOf(credential: string): string {
  return hash('sha256', credential, 'hex').slice(0, ID_CHARACTERS)
}
