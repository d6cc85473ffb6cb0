/**
 * Validates `integrations.authentication`, which maps each API key, a secret, to its label. Messages have only the
 * label.
 */

const RECOMMENDED_LENGTH = 32

/** The number of characters that messages have of a label as long as a key, which may be a key in the wrong place. */
const SHOWN_LENGTH = 8

/** Returns the mistakes: no API key, one that cannot be a header value, or one without a label. */
export function findApiKeyMistakes(labelByKey: Readonly<Record<string, string>>): string[] {
  const where = 'integrations.authentication'
  if (Object.keys(labelByKey).length === 0) return [`${where}: it has no API key, so nobody could call the service`]
  const unlabelled = Object.values(labelByKey).includes('')
    ? [`${where}: a key has an empty label; name who has the key, since the log and the audit log name it so`]
    : []
  const unsendable = Object.entries(labelByKey)
    .filter(([key]) => !/^[!-~]+$/.test(key))
    .map(
      ([, label]) =>
        `${where}: the key ${labelText(label)} cannot be sent in a header; use printable ASCII without spaces`,
    )
  return [...unlabelled, ...unsendable]
}

function labelText(label: string): string {
  return label.length < RECOMMENDED_LENGTH
    ? `labelled ${label}`
    : `labelled ${label.slice(0, SHOWN_LENGTH)}… (are key and label the wrong way round?)`
}

/** Returns a warning for each short API key. */
export function findApiKeyWarnings(labelByKey: Readonly<Record<string, string>>): string[] {
  return Object.entries(labelByKey)
    .filter(([key]) => key.length < RECOMMENDED_LENGTH)
    .map(([, label]) => `integrations.authentication: the key ${labelText(label)} is short; use 64 random characters`)
}
