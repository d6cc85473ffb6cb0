/** The lines of a JSON text, for mistakes that are shown beside theirs. */

/** Returns the line where a text stops being JSON, from 1: the first that no further text could make right. */
export function lineOfSyntaxError(text: string): number {
  const lines = text.trimEnd().split('\n')
  const index = lines.findIndex((_, last) => !isUnfinished(lines.slice(0, last + 1).join('\n')))
  return index < 0 ? lines.length : index + 1
}

/** Tests whether a text is JSON, or would be with more behind it. */
function isUnfinished(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch (error) {
    const { message } = error as Error
    const position = /position (\d+)/.exec(message)?.[1]
    return /end of/i.test(message) || Number(position) === text.length
  }
}

/** Returns the line of the value at a path such as `credentials[0].claims`, or of the nearest value around it. */
export function lineOfPath(text: string, path: string): number {
  const places = placesOf(text)
  const steps = path.split(/[.[\]]+/).filter((step) => step !== '')
  for (; steps.length > 0; steps.pop()) {
    const place = places.get(steps.join('.'))
    if (place !== undefined) return lineAt(text, place)
  }
  return 1
}

function lineAt(text: string, position: number): number {
  return text.slice(0, position).split('\n').length
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/** Finds where each value of a text that parses begins, or its name where it has one; by its path with dots. */
function placesOf(text: string): ReadonlyMap<string, number> {
  const places = new Map<string, number>()
  const around: { readonly isArray: boolean; step: string | number }[] = []
  let previous = ''
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const inside = around.at(-1)
    const isName = inside?.isArray === false && token.startsWith('"') && (previous === '{' || previous === ',')
    if (isName) inside.step = JSON.parse(token) as string
    if (token === ',' && inside?.isArray === true) inside.step = Number(inside.step) + 1
    const path = around.map(({ step }) => step).join('.')
    if (!/^[\]},:]$/.test(token) && !places.has(path)) places.set(path, index)
    if (token === '{' || token === '[') around.push({ isArray: token === '[', step: token === '[' ? 0 : '' })
    if (token === '}' || token === ']') around.pop()
    previous = token
  }
  return places
}
