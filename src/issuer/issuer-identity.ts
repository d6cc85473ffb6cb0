/** The setting `issuer`: the identifier of the issuer, and its names by language. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { findNameProblem, type LocalizedName } from '../protocol/display-language.ts'

export const IssuerSetting = Type.Object(
  {
    id: Type.String({ minLength: 1, description: 'Identifier of the issuer: iss and issuer of each credential' }),
    display: Type.Object(
      {
        name: Type.String({ minLength: 1, description: 'Name that wallets show' }),
        locale: Type.Optional(Type.String({ description: 'Language of `name`, such as `en-GB`' })),
        translations: Type.Optional(
          Type.Array(
            Type.Object(
              {
                name: Type.String({ minLength: 1, description: 'Name that wallets show in this language' }),
                locale: Type.String({ description: 'The language, such as `de`' }),
              },
              { additionalProperties: false },
            ),
            {
              description:
                'The name in other languages, objects with `name` and `locale`; each language stands there once',
            },
          ),
        ),
      },
      { additionalProperties: false },
    ),
    identifier: Type.Optional(
      Type.Union([Type.Literal('session'), Type.Literal('base')], {
        description: 'Which credential issuer identifier an offer names; that of its session when absent',
      }),
    ),
  },
  { additionalProperties: false },
)
type IssuerSetting = Static<typeof IssuerSetting>

export interface IssuerIdentity {
  /** `iss` and `issuer` of credentials. */
  readonly id: string
  /** The names by language; the first is for all who have none of their own language. */
  readonly names: readonly LocalizedName[]
  /** The credential issuer identifier in offers: one for each session, or the base URL. */
  readonly identifier: 'session' | 'base'
}

/** Adds the defaults to valid settings. */
export function resolveIssuer({ id, display, identifier = 'session' }: IssuerSetting): IssuerIdentity {
  return { id, names: namesOf(display), identifier }
}

/** Returns the mistakes in the names and their languages. */
export function findIssuerMistakes(settings: IssuerSetting | undefined): string[] {
  const problem = findNameProblem(namesOf(settings?.display))
  if (problem === undefined) return []
  const { index, member, why } = problem
  const place = index === 0 ? member : `translations[${index - 1}].${member}`
  return [`issuer.display.${place}: ${why}`]
}

function namesOf(display: IssuerSetting['display'] | undefined): readonly LocalizedName[] {
  if (display === undefined) return []
  const { translations = [], ...name } = display
  return [name, ...translations]
}
