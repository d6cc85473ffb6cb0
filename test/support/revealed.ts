/**
 * Returns those of the secrets that the text reveals. A word of fewer than eight characters counts as a whole word
 * alone, since random ids have any three letters in a row now and then.
 */
export function findRevealed(text: string, secrets: readonly string[]): string[] {
  const words = new Set(text.split(/[^\p{L}\d_-]+/u))
  return secrets.filter((secret) => (secret.length < 8 ? words.has(secret) : text.includes(secret)))
}
