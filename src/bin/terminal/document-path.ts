/** Names documents of the project so that whoever reads a message finds them. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Returns the path of a document, such as `docs/reference.md`, in this installation: beside the bundle, one of its
 * parts, or this source. An image has no documents, and there the name is that of the project.
 */
export function documentPath(name: string): string {
  const candidates = ['..', '../..', '../../..'].map((above) => join(import.meta.dirname, above, name))
  return candidates.find((path) => existsSync(path)) ?? name
}
