/** Finds the valid name that a misspelt one probably means. */

const MAX_LENGTH = 64
/** The maximum edit distance of a misspelling. */
const MAX_DISTANCE = 2

/**
 * Returns the valid name closest to `name`: equal except for case, hyphens and underscores, or with an edit distance of
 * 1, or of 2 for names longer than six. Returns undefined if `name` is valid itself, or none is close.
 */
export function nearestName(name: string, validNames: readonly string[]): string | undefined {
  if (name.length > MAX_LENGTH || validNames.includes(name)) return undefined
  const normalizedName = normalizeName(name)
  const [nearest] = validNames
    .map((each) => ({ each, distance: distanceOf(normalizedName, normalizeName(each)) }))
    .filter(({ each, distance }) => distance <= (each.length > 6 ? MAX_DISTANCE : 1) && distance < each.length - 1)
    .sort((a, b) => a.distance - b.distance)
  return nearest?.each
}

function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '')
}

/** Returns the optimal string alignment distance (insert, delete, replace, swap neighbours); infinite above two. */
function distanceOf(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > MAX_DISTANCE) return Infinity
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  for (let i = 1; i <= a.length; i++) {
    const row = Array<number>(b.length + 1).fill(Infinity)
    row[0] = i
    for (let j = Math.max(1, i - MAX_DISTANCE); j <= Math.min(b.length, i + MAX_DISTANCE); j++) {
      const replacementCost = cellAt(rows, i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapCost = isSwapped ? cellAt(rows, i - 2, j - 2) + 1 : Infinity
      row[j] = Math.min(cellAt(rows, i - 1, j) + 1, (row[j - 1] ?? Infinity) + 1, replacementCost, swapCost)
    }
    if (Math.min(...row) > MAX_DISTANCE) return Infinity
    rows.push(row)
  }
  const distance = cellAt(rows, a.length, b.length)
  return distance > MAX_DISTANCE ? Infinity : distance
}

function cellAt(rows: readonly (readonly number[])[], row: number, column: number): number {
  return rows[row]?.[column] ?? Infinity
}
