/**
 * Group read: rows that are requested in one turn of the event loop are read together, so that many requests, and the
 * many rows of one, cost one round trip. Each row is read after its request, and so has all earlier commits.
 */

interface Group<Row> {
  readonly ids: Set<string>
  readonly rows: Promise<ReadonlyMap<string, Row>>
}

/**
 * Makes a function that reads a row by its id, with at most `maxRows` in one group. `readAll` returns the rows that are
 * there, by id; when it rejects, each of these reads rejects.
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
        // A later request begins another group, which reads what is committed until then.
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
