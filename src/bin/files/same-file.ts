/** Tells whether two paths lead to the same file, whose name may be written in different ways. */
import { statSync } from 'node:fs'

/** Tests whether both paths lead to one file or directory. Returns false where that cannot be known. */
export function isSameFile(one: string, other: string): boolean {
  const identity = identityOf(one)
  return identity !== undefined && identity === identityOf(other)
}

/** Returns the device and the inode, which hard links of a file share; undefined if the path leads nowhere. */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}.${ino}`
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
    return undefined
  }
}
