/**
 * Group read: rows that are requested in one turn of the event loop are read together, so that many requests share one
 * round trip. A row is read after it was requested, so it includes all earlier commits.
 */

interface Group<Row> {
  readonly ids: Set<string>
  readonly rows: Promise<ReadonlyMap<string, Row>>
}

/**
 * Makes a function that reads a row by its id, and groups at most `maxRows` reads. `readAll` returns the rows that
 * exist, by id. When it rejects, every read of the group rejects.
 */
export function groupRead<Row>(
  readAll: (ids: readonly string[]) => Promise<ReadonlyMap<string, Row>>,
  maxRows: number,
): (id: string) => Promise<Row | undefined> {
  let openGroup: Group<Row> | undefined

  const beginGroup = (): Group<Row> => {
    const ids = new Set<string>()
    const rows = new Promise<ReadonlyMap<string, Row>>((resolve, reject) => {
      setImmediate(() => {
        // A later request begins another group, so that it reads later commits.
        if (openGroup?.ids === ids) openGroup = undefined
        readAll([...ids]).then(resolve, reject)
      })
    })
    return { ids, rows }
  }

  return async (id) => {
    if (openGroup === undefined || openGroup.ids.size >= maxRows) openGroup = beginGroup()
    const { ids, rows } = openGroup
    ids.add(id)
    return (await rows).get(id)
  }
}
