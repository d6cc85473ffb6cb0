/** What a JSON Schema found wrong, as sentences that begin with the path: `credentials[0].id: must be string`. */
import type { ErrorObject } from 'ajv'

export function describeMistakes(errors: readonly ErrorObject[]): string[] {
  return [...new Set(errors.map(describe))]
}

function describe({ instancePath, keyword, message, params }: ErrorObject): string {
  const path = dotted(instancePath)
  const member = (name: unknown): string => (path === '' ? String(name) : `${path}.${String(name)}`)
  if (keyword === 'additionalProperties') return `${member(params.additionalProperty)}: unknown setting or field`
  if (keyword === 'required') return `${member(params.missingProperty)}: required`
  if (keyword === 'enum') return `${path}: must be one of ${(params.allowedValues as unknown[]).join(', ')}`
  return `${path === '' ? 'the body' : path}: ${message ?? 'is not valid'}`
}

/** `/credentials/0/id` (RFC 6901) as people write it. */
function dotted(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`))
    .join('')
    .replace(/^\./, '')
}
