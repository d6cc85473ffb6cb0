/** Exports status lists as files, for web servers and CDNs that serve them instead of the issuer. */
import type { ListKind } from './documents.ts'
import { createPublishedListReader, type ListContext, type PublishedList } from './published-list.ts'

/** A status list in one kind. */
export interface PublishedListFile extends PublishedList {
  /** The path below `/status-list`, with `/` between folders. */
  readonly path: string
}

/** The suffix of the path of each kind. */
const SUFFIXES: Readonly<Record<ListKind, string>> = {
  jwt: '.jwt',
  cwt: '.cwt',
  revocation: '/revocation.jwt',
  suspension: '/suspension.jwt',
}

/** Returns all status lists in all kinds. A list is signed when its `makeDocument` is called. */
export async function listPublishedLists(context: ListContext): Promise<readonly PublishedListFile[]> {
  const readList = createPublishedListReader(context)
  const files: PublishedListFile[] = []
  for (const { id } of await context.store.list('status_list')) {
    for (const [kind, suffix] of Object.entries(SUFFIXES))
      files.push({ path: id + suffix, ...(await readList(id, kind as ListKind)) })
  }
  return files
}

/** Tests whether {@link listPublishedLists} returns the path, which is below `/status-list`. */
export function isListPath(path: string): boolean {
  return Object.values(SUFFIXES).some(
    (suffix) => path.endsWith(suffix) && /^[\w-]+$/.test(path.slice(0, -suffix.length)),
  )
}
