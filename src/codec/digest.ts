/** What is kept of a secret in its place, and how one is compared. */
import { hash, timingSafeEqual } from 'node:crypto'

/** SHA-256, base64url. */
export function digestOf(text: string): string {
  return hash('sha256', text, 'base64url')
}

/** Whether the texts are the same. The time it takes says nothing about either but its length. */
export function isSameSecret(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)]
  return one.length === other.length && timingSafeEqual(one, other)
}
