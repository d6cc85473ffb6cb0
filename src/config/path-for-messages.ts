/** Paths in messages: a key that was pasted in place of its file must not reach a log. */

/** Returns the path as messages show it, or a remark where it looks like a key and not like a path. */
export function pathForMessages(path: string): string {
  const isPem = /[\r\n]|-----BEGIN/.test(path)
  const isHex = /^[\da-f]{32,}$/i.test(path)
  const isBase64 = /^[\w+/=-]{32,}$/.test(path) && [/\d/, /[a-z]/, /[A-Z]/].every((kind) => kind.test(path))
  return isPem || isHex || isBase64 ? '(it looks like a key; write the name of its file)' : path
}
