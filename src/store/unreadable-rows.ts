/** Rows whose value was damaged in the database: such a row keeps no others from being used. */

/** Readable rows, and why one of the others cannot be read. */
export interface SeparatedRows<R> {
  readonly rows: readonly R[]
  readonly damage: Error | undefined
}

/** Separates the rows of a list whose value can be read from those whose value cannot. */
export function separateUnreadable<R extends { readonly value: unknown }>(rows: readonly R[]): SeparatedRows<R> {
  const damages: Error[] = []
  const readableRows = rows.filter((row) => {
    try {
      return row.value !== undefined
    } catch (error) {
      damages.push(error as Error)
      return false
    }
  })
  return { rows: readableRows, damage: damages[0] }
}
