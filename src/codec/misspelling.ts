/** Names that differ so little from one that is known that somebody probably mistyped it. */

const LONGEST = 64
/** The most letters by which a misspelling differs. */
const MOST = 2

/**
 * The one of `known` that `name` is nearly: the same but for case, hyphens and underscores, or one letter away, or two where it has more
 * than six. Undefined where `name` is itself among them, or none is near.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > LONGEST || known.includes(name)) return undefined
  const written = bare(name)
  const [nearest] = known
    .map((each) => ({ each, distance: distanceOf(written, bare(each)) }))
    .filter(({ each, distance }) => distance <= (each.length > 6 ? MOST : 1) && distance < each.length - 1)
    .sort((a, b) => a.distance - b.distance)
  return nearest?.each
}

function bare(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '')
}

/** How many letters have to be added, left out, replaced or swapped with their neighbour; infinite where that is more than two. */
function distanceOf(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > MOST) return Infinity
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  for (let i = 1; i <= a.length; i++) {
    const row = Array<number>(b.length + 1).fill(Infinity)
    row[0] = i
    for (let j = Math.max(1, i - MOST); j <= Math.min(b.length, i + MOST); j++) {
      const replaced = cell(rows, i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwapped ? cell(rows, i - 2, j - 2) + 1 : Infinity
      row[j] = Math.min(cell(rows, i - 1, j) + 1, (row[j - 1] ?? Infinity) + 1, replaced, swapped)
    }
    if (Math.min(...row) > MOST) return Infinity
    rows.push(row)
  }
  const distance = cell(rows, a.length, b.length)
  return distance > MOST ? Infinity : distance
}

function cell(rows: readonly (readonly number[])[], row: number, column: number): number {
  return rows[row]?.[column] ?? Infinity
}
