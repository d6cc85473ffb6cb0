/** The errors of SQLite, told by their result codes. SQLite documentation, Result and Error Codes. */

/** The codes that matter here. The last one is an extended code: SQLITE_IOERR_SHORT_READ, of a truncated file. */
const RESULT_CODES = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cantOpen: 14,
  notADatabase: 26,
  shortRead: 522,
} as const

export type ResultName = keyof typeof RESULT_CODES

/**
 * Tests whether an error has the result code of one of the names. An error with an extended code also has the primary
 * one, which is the lowest byte of the extended code.
 */
export function hasResultCode(error: unknown, ...names: readonly ResultName[]): boolean {
  const { errcode } = error as { readonly errcode?: number }
  if (errcode === undefined) return false
  return names.some((name) => RESULT_CODES[name] === errcode || RESULT_CODES[name] === (errcode & 0xff))
}
