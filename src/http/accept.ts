/** Content negotiation for media types and gzip. RFC 9110 section 12.5. */

interface Range {
  readonly type: string
  readonly quality: number
  /** The position in the header, for the order of equal ranges. */
  readonly position: number
}

/**
 * Selects one of `types`: first by quality, then types that the client names over types that only a wildcard matches,
 * then by order in the header. The first of `types` is the default.
 */
export function preferredType<T extends string>(accept: string | undefined, types: readonly [T, ...T[]]): T {
  const ranges = (accept ?? '').split(',').map(readRange)
  let best: { readonly type: T; readonly range: Range } | undefined
  for (const type of types) {
    const range = rangeOf(type, ranges)
    if (range !== undefined && range.quality > 0 && (best === undefined || isBetter(range, best.range)))
      best = { type, range }
  }
  return best?.type ?? types[0]
}

/** Tests whether the client accepts gzip. RFC 9110 section 12.5.3. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  const codings = (acceptEncoding ?? '').split(',').map(readRange)
  const coding = codings.find(({ type }) => type === 'gzip') ?? codings.find(({ type }) => type === '*')
  return coding !== undefined && coding.quality > 0
}

function readRange(text: string, position: number): Range {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1'
  return { type, quality: /^(0(\.\d*)?|1(\.0*)?)$/.test(quality) ? Number(quality) : 0, position }
}

/** Returns the most specific range that matches `type`. */
function rangeOf(type: string, ranges: readonly Range[]): Range | undefined {
  const covering = [type, `${type.split('/')[0]}/*`, '*/*']
  return covering.map((name) => ranges.find((range) => range.type === name)).find((range) => range !== undefined)
}

function isBetter(one: Range, other: Range): boolean {
  if (one.quality !== other.quality) return one.quality > other.quality
  const [isExplicit, isOtherExplicit] = [!one.type.endsWith('*'), !other.type.endsWith('*')]
  return isExplicit === isOtherExplicit ? isExplicit && one.position < other.position : isExplicit
}
