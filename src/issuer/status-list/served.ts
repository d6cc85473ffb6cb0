/** Lists, kept in memory as they were last served: as long as nothing changes, a list costs one look-up. */
import { hash } from 'node:crypto'
import { type CachedValue, cacheValue } from '../../async/cache.ts'
import { createLru } from '../../async/lru.ts'
import type { Signer } from '../../keys/signer.ts'
import type { CertifiedSigner } from '../../keys/status-list-signers.ts'
import { refuse } from '../../protocol/error.ts'
import type { IssuerContext } from '../context.ts'
import type { StoredStatusList } from '../status-rows.ts'
import { readBits } from './chunks.ts'
import { contentEncoded, type ListKind, listDocument } from './documents.ts'
import { listUri, purposeUri } from './issued.ts'

const LIFETIME_MS = 24 * 3_600_000
/** The time for which a list is served: half its life at most, so that whoever gets it last has the other half. */
const RENEWAL_MS = LIFETIME_MS / 2
/**
 * The most lists in memory: one of the usual size is some kilobytes, the largest a few hundred, and there are three or
 * four of each.
 */
const KEPT = 16

export interface ServedList {
  /**
   * The entity tag: another for each change of the list, each renewal and each kind; the same in every process of the
   * service.
   */
  readonly etag: string
  readonly document: (encoding: 'gzip' | 'identity') => Promise<Buffer>
}

export type ListServer = (listId: string, kind: ListKind) => Promise<ServedList>

interface CachedList {
  readonly etag: string
  readonly identity: CachedValue<Buffer>
  readonly gzip: CachedValue<Buffer>
}

/** The part of the context that a list is made of. */
export type ListContext = Pick<IssuerContext, 'store' | 'config' | 'keys' | 'now'>

/**
 * Makes the function that returns a list as it is now; its document is made when it is asked for. The function refuses
 * with `not_found`.
 */
export function listServer(context: ListContext): ListServer {
  const documents = createLru<string, CachedList>(KEPT)
  const { ttlSeconds } = context.config.statusList
  const signerTags = new WeakMap<Signer, string>()
  const tagOf = (signer: Signer): string => {
    const tag = signerTags.get(signer) ?? signerTag(signer, ttlSeconds)
    signerTags.set(signer, tag)
    return tag
  }
  return async (listId, kind) => {
    const row = await context.store.get('status_list', listId)
    if (row === undefined) return refuse('not_found', 'there is no such status list')
    const now = context.now()
    const certified = context.keys.statusLists.signerOf(row.value.kid, now)
    // The signature is another in each process, and the bytes in each encoding: a weak one. RFC 9110 section 8.8.1.
    const etag = `W/"${row.version}.${Math.floor(now.getTime() / RENEWAL_MS)}.${kind}.${tagOf(certified.signer)}"`
    const cachedList = (): CachedList => {
      const key = `${listId}/${kind}`
      const cached = documents.get(key)
      if (cached?.etag === etag) return cached
      const identity = cacheValue(() => makeDocument(context, { listId, kind, list: row.value, certified }))
      const list = { etag, identity, gzip: cacheValue(async () => contentEncoded(await identity.get())) }
      documents.set(key, list)
      return list
    }
    return { etag, document: (encoding) => cachedList()[encoding].get() }
  }
}

interface ListRequest {
  readonly listId: string
  readonly kind: ListKind
  readonly list: StoredStatusList
  readonly certified: CertifiedSigner
}

/** Names the signer, its certificates and the lifetime in an entity tag: what a list has in it beside its bits. */
function signerTag({ kid, x5c }: Signer, ttlSeconds: number): string {
  return hash('sha256', [kid, ...x5c, ttlSeconds].join(), 'base64url').slice(0, 8)
}

/**
 * Makes the signed document of a status list. The version was read before the bits are, so that a document may be newer
 * than its entity tag says, and is never older.
 */
async function makeDocument(
  { store, config, now }: ListContext,
  { listId, kind, list, certified: { signer, notAfter } }: ListRequest,
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
  return listDocument(kind, document, signer)
}
