/** Names that differ so little from one that is known that somebody probably mistyped it. */

const LONGEST = 64

/**
 * The one of `known` that `name` is nearly: the same but for case, hyphens and underscores, or one letter away, or two where it has more
 * than six. Undefined where `name` is itself among them, or none is near.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > LONGEST || known.includes(name)) return undefined
  const [nearest] = known
    .map((each) => ({ each, distance: distanceOf(bare(name), bare(each)) }))
    .filter(({ each, distance }) => distance <= (each.length > 6 ? 2 : 1) && distance < each.length - 1)
    .sort((a, b) => a.distance - b.distance)
  return nearest?.each
}

function bare(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '')
}

/** How many letters have to be added, left out, replaced or swapped with their neighbour. */
function distanceOf(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const costs = [
        cell(rows, i - 1, j) + 1,
        (row[j - 1] ?? 0) + 1,
        cell(rows, i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1),
      ]
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) costs.push(cell(rows, i - 2, j - 2) + 1)
      row.push(Math.min(...costs))
    }
    rows.push(row)
  }
  return cell(rows, a.length, b.length)
}

function cell(rows: readonly (readonly number[])[], row: number, column: number): number {
  return rows[row]?.[column] ?? 0
}
