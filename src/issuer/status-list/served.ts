/** Lists, kept in memory as they were last served: as long as nothing changes, a list costs one look-up. */
import { hash } from 'node:crypto'
import { cacheValue, createBytesCache } from '../../async/cache.ts'
import type { Signer } from '../../keys/signer.ts'
import type { CertifiedSigner } from '../../keys/status-list-signers.ts'
import { refuse } from '../../protocol/error.ts'
import { readGeneration } from '../../store/generation.ts'
import type { IssuerContext } from '../context.ts'
import type { StoredStatusList } from '../status-rows.ts'
import { readBits } from './chunks.ts'
import { compressDocument, type ListKind, makeListDocument } from './documents.ts'
import { listUri, purposeUri } from './issued-entries.ts'

const LIFETIME_MS = 24 * 3_600_000
/** The time for which a list is served: half its life at most, so that whoever gets it last has the other half. */
const RENEWAL_MS = LIFETIME_MS / 2
/** The time for which the generation of the database is not read again. */
const GENERATION_MS = 60_000
/** The memory for lists as they were served, each in its kinds and encodings. docs/decisions/0007-status-lists.md. */
const KEPT_BYTES = 64 * 2 ** 20

export interface ServedList {
  /**
   * The entity tag: another for each change of the list, each renewal and each kind; the same in every process of the
   * service.
   */
  readonly etag: string
  readonly makeDocument: (encoding: 'gzip' | 'identity') => Promise<Buffer>
}

export type ReadPublishedList = (listId: string, kind: ListKind) => Promise<ServedList>

/** The part of the context that a list is made of. */
export type ListContext = Pick<IssuerContext, 'store' | 'config' | 'keys' | 'now' | 'recordSignedList'>

/**
 * Makes the function that returns a list as it is now; its document is made when it is asked for. The function refuses
 * with `not_found`.
 */
export function createPublishedListReader(context: ListContext): ReadPublishedList {
  const documents = createBytesCache(KEPT_BYTES)
  const { ttlSeconds } = context.config.statusList
  const signerTags = new WeakMap<Signer, string>()
  const tagOf = (signer: Signer): string => {
    const tag = signerTags.get(signer) ?? signerTag(signer, ttlSeconds)
    signerTags.set(signer, tag)
    return tag
  }
  const generation = cacheValue(() => readGeneration(context.store), {
    ttlMs: GENERATION_MS,
    now: context.now,
  })
  return async (listId, kind) => {
    const row = await context.store.get('status_list', listId)
    if (row === undefined) return refuse('not_found', 'there is no such status list')
    const now = context.now()
    const certifiedSigner = context.keys.statusLists.findSigner(row.value.kid, now)
    // Each process makes another signature, and each encoding other bytes, so that the tag is weak. RFC 9110 section
    // 8.8.1.
    // The versions of lists begin to repeat when a backup is restored.
    const version = `${(await generation.get())?.id.slice(0, 8) ?? ''}.${row.version}`
    const etag = `W/"${version}.${periodOf(listId, now)}.${kind}.${tagOf(certifiedSigner.signer)}"`
    const makeDocument = (encoding: 'gzip' | 'identity'): Promise<Buffer> =>
      documents.get(`${listId}/${kind}/${encoding}`, etag, async () =>
        encoding === 'gzip'
          ? compressDocument(await makeDocument('identity'))
          : signDocument(context, { listId, kind, list: row.value, certifiedSigner }),
      )
    return { etag, makeDocument }
  }
}

/**
 * Counts the periods for which a list is served. Each list begins them at a moment of its own, the same in every
 * process: otherwise an issuer would sign all of its lists at once.
 */
function periodOf(listId: string, now: Date): number {
  const shiftMs = hash('sha256', listId, 'buffer').readUInt32BE(0) % RENEWAL_MS
  return Math.floor((now.getTime() + shiftMs) / RENEWAL_MS)
}

interface ListRequest {
  readonly listId: string
  readonly kind: ListKind
  readonly list: StoredStatusList
  readonly certifiedSigner: CertifiedSigner
}

/** Names the signer, its certificates and the lifetime in an entity tag: what a list has in it beside its bits. */
function signerTag({ kid, x5c }: Signer, ttlSeconds: number): string {
  return hash('sha256', [kid, ...x5c, ttlSeconds].join(), 'base64url').slice(0, 8)
}

/**
 * Makes the signed document of a status list. The version was read before the bits are, so that a document may be newer
 * than its entity tag says, and is never older.
 */
async function signDocument(
  { store, config, now, recordSignedList }: ListContext,
  { listId, kind, list, certifiedSigner: { signer, notAfter } }: ListRequest,
): Promise<Buffer> {
  const issuedAt = now()
  const latest = issuedAt.getTime() + LIFETIME_MS
  const isToken = kind === 'jwt' || kind === 'cwt'
  const document = {
    uri: isToken ? listUri(config.baseUrl, listId) : purposeUri(config.baseUrl, listId, kind),
    bits: await readBits(store, listId, list),
    issuer: config.issuer.id,
    ttlSeconds: config.statusList.ttlSeconds,
    issuedAt,
    // No list says that it is valid for longer than the certificate of its signer is.
    expiresAt: new Date(Math.min(latest, notAfter?.getTime() ?? latest)),
  }
  const signedDocument = await makeListDocument(kind, document, signer)
  const servedUntil = new Date(issuedAt.getTime() + RENEWAL_MS)
  recordSignedList?.(`${listId}/${kind}`, { ...document, servedUntil })
  return signedDocument
}
