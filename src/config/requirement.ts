/** Settings that say whether wallets may do something, or must. */
import * as Type from 'typebox'

export type Requirement = 'optional' | 'required'

/** Makes the schema of such a setting. `description` also says what is so when the setting is absent. */
export function makeRequirementSetting(description: string) {
  return Type.Optional(Type.Union([Type.Literal('optional'), Type.Literal('required')], { description }))
}
