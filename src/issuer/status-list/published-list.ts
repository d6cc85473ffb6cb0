/** Serves status lists from a cache of signed documents. An unchanged list costs one database read. */
import { hash } from 'node:crypto'
import { cacheValue, createBytesCache } from '../../async/cache.ts'
import type { CertifiedSigner } from '../../keys/key-ring.ts'
import type { Signer } from '../../keys/signer.ts'
import { refuse } from '../../protocol/error.ts'
import { readGeneration } from '../../store/generation.ts'
import type { IssuerContext } from '../context.ts'
import type { StoredStatusList } from '../status-rows.ts'
import { readBits } from './chunks.ts'
import { compressDocument, type ListKind, makeListDocument } from './documents.ts'
import { listUri, purposeUri } from './entries.ts'

const LIFETIME_MS = 24 * 3_600_000
/** How long a document is served: half of its validity, so that each client can use it for the other half. */
const RENEWAL_MS = LIFETIME_MS / 2
/** How long the generation of the database is cached. */
const GENERATION_MS = 60_000
/** The maximum size of the cache for documents. docs/decisions/0007-status-lists.md. */
const MAX_CACHED_BYTES = 64 * 2 ** 20

/** The current state of a list in one kind, and the function that makes its document. */
export interface PublishedList {
  /**
   * The entity tag. It changes with each change of the list, each renewal and each kind, and is the same in all
   * processes.
   */
  readonly etag: string
  readonly makeDocument: (encoding: 'gzip' | 'identity') => Promise<Buffer>
}

export type ReadPublishedList = (listId: string, kind: ListKind) => Promise<PublishedList>

/** The part of the context that status lists need. */
export type ListContext = Pick<IssuerContext, 'store' | 'config' | 'keys' | 'now' | 'recordSignedList'>

/**
 * Creates the function that returns the current entity tag of a list, and a function that makes its document. It
 * refuses with `not_found`, and with `temporarily_unavailable` if the certificate of the list's signer has ended.
 */
export function createPublishedListReader(context: ListContext): ReadPublishedList {
  const documents = createBytesCache(MAX_CACHED_BYTES)
  const signerTags = new WeakMap<Signer, string>()
  const tagOf = (signer: Signer): string => {
    const tag = signerTags.get(signer) ?? signerTag(signer, context.config)
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
    const certifiedSigner = context.keys.statusListSigners.findSigner(row.value.kid, now)
    refuseEndedSigner(certifiedSigner, now)
    // The tag is weak, since signatures differ between processes, and bytes between encodings (RFC 9110 section 8.8.1).
    // The generation is in the tag because versions repeat after a restore.
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

/** Refuses if the certificate of the signer ends within a second: `exp`, in whole seconds, would not be after `iat`. */
function refuseEndedSigner({ notAfter }: CertifiedSigner, now: Date): void {
  if (notAfter.getTime() - now.getTime() >= 1000) return
  refuse('temporarily_unavailable', 'the certificate that signs this list has ended; ask again when it is renewed')
}

/**
 * Returns the number of the current serving period. Each list has its own offset, the same in all processes, so that
 * not all lists are signed at once.
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

/** Makes the part of the entity tag for the signer, its certificates, and the settings that are in a document. */
function signerTag({ kid, x5c }: Signer, { baseUrl, issuer, statusList }: IssuerContext['config']): string {
  const parts = [kid, ...x5c, statusList.ttlSeconds, baseUrl, issuer.id]
  return hash('sha256', parts.join(), 'base64url').slice(0, 8)
}

/**
 * Makes the signed document of a list. The bits are read after the version, so a document is never older than its
 * entity tag.
 */
async function signDocument(
  { store, config, now, recordSignedList }: ListContext,
  { listId, kind, list, certifiedSigner: { signer, notAfter } }: ListRequest,
): Promise<Buffer> {
  const issuedAt = now()
  const isToken = kind === 'jwt' || kind === 'cwt'
  const content = {
    uri: isToken ? listUri(config.baseUrl, listId) : purposeUri(config.baseUrl, listId, kind),
    bits: await readBits(store, listId, list),
    issuer: config.issuer.id,
    ttlSeconds: config.statusList.ttlSeconds,
    issuedAt,
    // A list expires with the certificate of its signer at the latest.
    expiresAt: new Date(Math.min(issuedAt.getTime() + LIFETIME_MS, notAfter.getTime())),
  }
  const signedDocument = await makeListDocument(kind, content, signer)
  const servedUntil = new Date(issuedAt.getTime() + RENEWAL_MS)
  recordSignedList?.(`${listId}/${kind}`, { ...content, servedUntil })
  return signedDocument
}
