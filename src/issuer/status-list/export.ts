/** Exports status lists as files, for web servers and CDNs that serve them instead of the issuer. */
import type { ListKind } from './documents.ts'
import { createPublishedListReader, type ListContext, type PublishedList } from './published-list.ts'

/** A status list in one kind. */
export interface ListFile extends PublishedList {
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
export async function listFiles(context: ListContext): Promise<readonly ListFile[]> {
  const readList = createPublishedListReader(context)
  const files: ListFile[] = []
  for (const { id } of await context.store.list('status_list')) {
    for (const [kind, suffix] of Object.entries(SUFFIXES))
      files.push({ path: id + suffix, ...(await readList(id, kind as ListKind)) })
  }
  return files
}

/** Tests whether {@link listFiles} returns the path, which is below `/status-list`. */
export function isListPath(path: string): boolean {
  return Object.values(SUFFIXES).some(
    (suffix) => path.endsWith(suffix) && /^[\w-]+$/.test(path.slice(0, -suffix.length)),
  )
}
