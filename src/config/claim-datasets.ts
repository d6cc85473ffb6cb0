/** The settings that map the claims of a person to a dataset. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { isObject, type Json, type JsonObject } from '../codec/json.ts'

const MAX_DEPTH = 8

const DatasetSource = Type.Object(
  {
    claims: Type.Object(
      {},
      {
        additionalProperties: true,
        description:
          'The dataset with the name of a claim in the place of each value, or the path to it as an array of names',
      },
    ),
    constants: Type.Optional(
      Type.Object({}, { additionalProperties: true, description: 'Members of the dataset that are the same for all' }),
    ),
  },
  { additionalProperties: false },
)

export const DatasetsSetting = Type.Record(Type.String(), DatasetSource, {
  description:
    'How the dataset is made, by the `scope` or the id of a credential configuration: `claims` is the dataset with the name of a claim, or a path of names, in the place of each value; `constants` are members that are the same for all',
})
type DatasetsSetting = Static<typeof DatasetsSetting>

/** The template of a dataset, with the path of a claim in place of each value. */
export type ClaimTemplate = { readonly [member: string]: ClaimTemplate | readonly string[] }

export interface DatasetMapping {
  readonly claims: ClaimTemplate
  readonly constants: JsonObject
}

interface Bounds {
  readonly depth: number
  /** The minimum number of steps of a path. */
  readonly least: number
}

/** Returns the mappings of valid settings, by the scope or the id of a credential configuration. */
export function resolveDatasets(datasets: DatasetsSetting): ReadonlyMap<string, DatasetMapping> {
  const mappings = Object.entries(datasets).map(([name, { claims, constants = {} }]) => {
    const mapping = { claims: templateOf(claims as JsonObject), constants: constants as JsonObject }
    return [name, mapping] as const
  })
  return new Map(mappings)
}

/** Returns the mistakes in mappings. Each claim path must have at least `least` steps. */
export function findDatasetMistakes(datasets: DatasetsSetting, least: number): string[] {
  if (Object.keys(datasets).length === 0) {
    return ['datasets: name at least one credential configuration by its scope']
  }
  return Object.entries(datasets).flatMap(([name, { claims }]) => {
    if (Object.keys(claims).length === 0) return [`datasets.${name}.claims: name at least one claim`]
    return templateProblems(claims as JsonObject, `datasets.${name}.claims`, { depth: MAX_DEPTH, least })
  })
}

function templateProblems(value: Json, place: string, { depth, least }: Bounds): string[] {
  const path = typeof value === 'string' ? [value] : value
  if (Array.isArray(path) && path.length > 0 && path.every((step) => typeof step === 'string' && step !== '')) {
    if (path.length >= least) return []
    return [`${place}: it must be a path, an array of the id of a credential in the query and the names of a claim`]
  }
  if (!isObject(value) || depth === 0) {
    return [`${place}: it must be the name of a claim, or an array of names, or an object of such`]
  }
  const bounds = { depth: depth - 1, least }
  return Object.entries(value).flatMap(([name, member]) => templateProblems(member, `${place}.${name}`, bounds))
}

function templateOf(claims: JsonObject): ClaimTemplate {
  const members = Object.entries(claims).map(([name, value]): [string, ClaimTemplate | readonly string[]] => {
    if (isObject(value)) return [name, templateOf(value)]
    return [name, Array.isArray(value) ? (value as readonly string[]) : [value as string]]
  })
  return Object.fromEntries(members)
}
