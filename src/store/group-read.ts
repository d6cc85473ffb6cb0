/**
 * Group read: what is asked for while the event loop turns once is read together, so that many requests, and the many
 * rows of one, cost one round trip. Each is read after it was asked for: it finds whatever had been committed by then.
 */

interface Group<Row> {
  readonly ids: Set<string>
  readonly rows: Promise<ReadonlyMap<string, Row>>
}

/**
 * Makes a function that reads a row by its id, together with up to `most` others. `readAll` returns the rows that are
 * there, by id; when it rejects, each of these reads rejects.
 */
export function groupRead<Row>(
  readAll: (ids: readonly string[]) => Promise<ReadonlyMap<string, Row>>,
  most: number,
): (id: string) => Promise<Row | undefined> {
  let open: Group<Row> | undefined

  const begin = (): Group<Row> => {
    const ids = new Set<string>()
    const rows = new Promise<ReadonlyMap<string, Row>>((resolve, reject) => {
      setImmediate(() => {
        // A later question gets a group of its own, which reads what is committed until then.
        if (open?.ids === ids) open = undefined
        readAll([...ids]).then(resolve, reject)
      })
    })
    return { ids, rows }
  }

  return async (id) => {
    if (open === undefined || open.ids.size >= most) open = begin()
    const { ids, rows } = open
    ids.add(id)
    return (await rows).get(id)
  }
}
