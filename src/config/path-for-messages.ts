/** File paths in messages. A key that was pasted in place of a path must not be logged. */

/** Returns the path for a message, or a remark if it looks like a key. */
export function pathForMessages(path: string): string {
  const isPem = /[\r\n]|-----BEGIN/.test(path)
  const isHex = /^[\da-f]{32,}$/i.test(path)
  const isBase64 = /^[\w+/=-]{32,}$/.test(path) && [/\d/, /[a-z]/, /[A-Z]/].every((kind) => kind.test(path))
  return isPem || isHex || isBase64 ? '(it looks like a key; write the name of its file)' : path
}
