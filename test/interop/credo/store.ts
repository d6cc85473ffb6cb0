/** Credo's storage service in memory: records by class and id, found by their tags. */

type Tags = Readonly<Record<string, unknown>>

export interface StoredRecord {
  readonly id: string
  readonly type: string
  getTags(): Tags
  clone(): StoredRecord
}

interface RecordClass {
  readonly type: string
}

interface Query {
  readonly $and?: readonly Query[]
  readonly $or?: readonly Query[]
  readonly $not?: Query
  readonly [tag: string]: unknown
}

/** Makes a store, which tells missing records by Credo's own error, since Credo catches that. */
export function memoryStore(notFound: (id: string, recordType: string) => Error): object {
  const records = new Map<string, StoredRecord>()
  const keyOf = (type: string, id: string) => `${type} ${id}`
  const put = (_: unknown, record: StoredRecord): Promise<void> => {
    records.set(keyOf(record.type, record.id), record.clone())
    return Promise.resolve()
  }
  const remove = (type: string, id: string): Promise<void> =>
    records.delete(keyOf(type, id)) ? Promise.resolve() : Promise.reject(notFound(id, type))
  const all = ({ type }: RecordClass) => [...records.values()].filter((record) => record.type === type)
  return {
    supportsCursorPagination: false,
    save: put,
    update: put,
    delete: (_: unknown, { type, id }: StoredRecord) => remove(type, id),
    deleteById: (_: unknown, { type }: RecordClass, id: string) => remove(type, id),
    getById: (_: unknown, { type }: RecordClass, id: string) => {
      const record = records.get(keyOf(type, id))
      return record === undefined ? Promise.reject(notFound(id, type)) : Promise.resolve(record.clone())
    },
    getAll: (_: unknown, recordClass: RecordClass) => Promise.resolve(all(recordClass).map((record) => record.clone())),
    findByQuery: (_: unknown, recordClass: RecordClass, query: Query) =>
      Promise.resolve(
        all(recordClass)
          .filter((record) => matches(record.getTags(), query))
          .map((record) => record.clone()),
      ),
  }
}

function matches(tags: Tags, { $and = [], $or, $not, ...equal }: Query): boolean {
  return (
    $and.every((query) => matches(tags, query)) &&
    ($or?.some((query) => matches(tags, query)) ?? true) &&
    !($not && matches(tags, $not)) &&
    Object.entries(equal).every(([name, value]) => value === undefined || holds(tags[name], value))
  )
}

/** Tests whether a tag holds the value: a tag with several values holds each of them. */
function holds(tag: unknown, value: unknown): boolean {
  if (!Array.isArray(tag)) return tag === value
  return (Array.isArray(value) ? value : [value]).every((each) => tag.includes(each))
}
