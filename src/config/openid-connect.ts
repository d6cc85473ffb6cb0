/** The setting `authentication.openidConnect`: a provider that signs people in, and the datasets made of its claims. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { isObject, type Json, type JsonObject } from '../codec/json.ts'
import { isSecure } from '../protocol/private-host.ts'

const DEFAULT_SCOPE = 'openid profile email'
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

export const OpenidConnectSetting = Type.Object(
  {
    issuer: Type.String({ description: 'The issuer identifier of the provider, https' }),
    clientId: Type.String({ minLength: 1, description: 'The client id of this service at the provider' }),
    clientSecret: Type.Optional(
      Type.String({ minLength: 1, description: 'The secret of clientId; absent for a public client' }),
    ),
    scope: Type.Optional(
      Type.String({ description: `The scope that is asked for, with openid in it; \`${DEFAULT_SCOPE}\` when absent` }),
    ),
    datasets: Type.Record(Type.String(), DatasetSource, {
      description:
        'How the dataset is made, by the `scope` or the id of a credential configuration: `claims` is the dataset with the name of a claim, or a path of names, in the place of each value; `constants` are members that are the same for all',
    }),
  },
  {
    additionalProperties: false,
    description:
      'An OpenID Connect provider that signs the person in, in place of `interactionUrl`; browsers come back to `/auth/sign-in/answer`',
  },
)
type OpenidConnectSetting = Static<typeof OpenidConnectSetting>

/** A claim of the provider in the place of each value. */
export type ClaimTemplate = { readonly [member: string]: ClaimTemplate | readonly string[] }

export interface DatasetMapping {
  readonly claims: ClaimTemplate
  readonly constants: JsonObject
}

export interface OpenidConnectConfig {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret?: string
  readonly scope: string
  /** By the scope or the id of a credential configuration. */
  readonly datasets: ReadonlyMap<string, DatasetMapping>
}

/** Adds the defaults to settings without mistakes. */
export function resolveOpenidConnect(settings: OpenidConnectSetting): OpenidConnectConfig {
  const { datasets, scope = DEFAULT_SCOPE, ...rest } = settings
  const mappings = Object.entries(datasets).map(([name, { claims, constants = {} }]) => {
    const mapping = { claims: templateOf(claims as JsonObject), constants: constants as JsonObject }
    return [name, mapping] as const
  })
  return { ...rest, scope, datasets: new Map(mappings) }
}

export function findOpenidConnectMistakes(settings: OpenidConnectSetting): string[] {
  const { issuer, scope = DEFAULT_SCOPE, datasets } = settings
  const address = issuerProblem(issuer)
  const problems = Object.entries(datasets).flatMap(([name, { claims }]) => {
    if (Object.keys(claims).length === 0) return [`datasets.${name}.claims: name at least one claim`]
    return templateProblems(claims as JsonObject, `datasets.${name}.claims`, MAX_DEPTH)
  })
  return [
    ...(address === undefined ? [] : [`issuer: ${address}`]),
    ...(scope.split(' ').includes('openid') ? [] : ['scope: openid must be one of its values']),
    ...(Object.keys(datasets).length > 0 ? [] : ['datasets: name at least one credential configuration by its scope']),
    ...problems,
  ].map((mistake) => `authentication.openidConnect.${mistake}`)
}

function issuerProblem(text: string): string | undefined {
  if (!URL.canParse(text)) return 'it is not a URL; write it like https://login.example.edu'
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') return 'it must not contain a user or password'
  // OpenID Connect Discovery 1.0 section 4.
  if (/[?#]/.test(text)) return 'it must have no query and no fragment'
  if (isSecure(url)) return undefined
  return 'it must begin with https://; plain http is for addresses of this machine and its network'
}

function templateProblems(value: Json, place: string, depth: number): string[] {
  if (typeof value === 'string' && value !== '') return []
  if (Array.isArray(value) && value.length > 0 && value.every((step) => typeof step === 'string' && step !== '')) {
    return []
  }
  if (!isObject(value) || depth === 0) {
    return [`${place}: it must be the name of a claim, or an array of names, or an object of such`]
  }
  return Object.entries(value).flatMap(([name, member]) => templateProblems(member, `${place}.${name}`, depth - 1))
}

function templateOf(claims: JsonObject): ClaimTemplate {
  const members = Object.entries(claims).map(([name, value]): [string, ClaimTemplate | readonly string[]] => {
    if (isObject(value)) return [name, templateOf(value)]
    return [name, Array.isArray(value) ? (value as readonly string[]) : [value as string]]
  })
  return Object.fromEntries(members)
}
