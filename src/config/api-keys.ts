/**
 * Validates `integrations.authentication`, which maps each API key, a secret, to its label. Messages have only the
 * label.
 */

const RECOMMENDED_LENGTH = 32

/** Returns the mistakes: no API key, or one that cannot be a header value. */
export function findApiKeyMistakes(labelByKey: Readonly<Record<string, string>>): string[] {
  const where = 'integrations.authentication'
  if (Object.keys(labelByKey).length === 0) return [`${where}: it has no API key, so nobody could call the service`]
  return Object.entries(labelByKey)
    .filter(([key]) => !/^[!-~]+$/.test(key))
    .map(
      ([, label]) =>
        `${where}: the key labelled ${label} cannot be sent in a header; use printable ASCII without spaces`,
    )
}

/** Returns a warning for each short API key. */
export function findApiKeyWarnings(labelByKey: Readonly<Record<string, string>>): string[] {
  return Object.entries(labelByKey)
    .filter(([key]) => key.length < RECOMMENDED_LENGTH)
    .map(([, label]) => `integrations.authentication: the key labelled ${label} is short; use 64 random characters`)
}
