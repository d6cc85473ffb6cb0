/** The status lists as files, for web servers and content delivery networks that serve them for the issuer. */
import type { ListKind } from './documents.ts'
import { createPublishedListReader, type ListContext, type ServedList } from './served.ts'

/** A status list in one of its kinds. */
export interface ListFile extends ServedList {
  /** The path below `/status-list`, with `/` between folders. */
  readonly path: string
}

/** The end of the path of each kind: the id of a list leads to the tokens, and a purpose below it to a credential. */
const SUFFIXES: Readonly<Record<ListKind, string>> = {
  jwt: '.jwt',
  cwt: '.cwt',
  revocation: '/revocation.jwt',
  suspension: '/suspension.jwt',
}

/** Yields every status list in every kind, as the issuer would serve it now; `makeDocument` signs it. */
export async function* listFiles(context: ListContext): AsyncGenerator<ListFile> {
  const serve = createPublishedListReader(context)
  for (const { id } of await context.store.list('status_list')) {
    for (const [kind, suffix] of Object.entries(SUFFIXES))
      yield { path: id + suffix, ...(await serve(id, kind as ListKind)) }
  }
}

/** Tests whether a path below `/status-list` is one that {@link listFiles} yields. */
export function isListPath(path: string): boolean {
  return /^[\w-]+(\.jwt|\.cwt|\/(revocation|suspension)\.jwt)$/.test(path)
}
