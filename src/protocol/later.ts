/** What a later release brings is refused by name until then, so that nobody relies on something that does nothing. */
import { refuse } from './error.ts'

/** Refuses with `invalid_request` when one of `names` is among the fields. */
export function refuseLater(fields: Readonly<Record<string, unknown>>, names: readonly string[]): void {
  const later = names.find((name) => fields[name] !== undefined)
  if (later !== undefined) refuse('invalid_request', `${later}: not yet supported`)
}
