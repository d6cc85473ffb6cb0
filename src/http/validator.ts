/** Validates what requests bring against the schemas of their routes, and describes what is wrong. */
import type { ErrorObject, ValidateFunction } from 'ajv'
import { compileSchema, describeMistakes } from '../protocol/json-schema.ts'

/** The result of a validation, as Fastify takes it. */
type ValidationResult = { readonly value: unknown } | { readonly error: Error }

/** Makes a validator of JSON that compiles its schema when it is first used, so that the start is fast. */
export function makeValidator(schema: object): (data: unknown) => ValidationResult {
  return makeValidatorWith(schema, describeMistakes)
}

/** Makes such a validator of parameters: those of a query or of a form. */
export function makeParameterValidator(schema: object): (data: unknown) => ValidationResult {
  return makeValidatorWith(schema, (errors) => {
    const repeated = repeatedNames(errors)
    return repeated.length > 0 ? repeated.map((name) => `${name}: given more than once`) : describeMistakes(errors)
  })
}

function makeValidatorWith(schema: object, describe: (errors: readonly ErrorObject[]) => readonly string[]) {
  let validate: ValidateFunction | undefined
  return (data: unknown): ValidationResult => {
    validate ??= compileSchema(schema, { all: false })
    if (validate(data)) return { value: data }
    return { error: Object.assign(new Error(describe(validate.errors ?? []).join('; ')), { validation: [] }) }
  }
}

/** Returns the names of the parameters that came more than once, which the parsers make arrays of. */
function repeatedNames(errors: readonly ErrorObject[]): readonly string[] {
  return [...new Set(errors.filter(({ data }) => Array.isArray(data)).map(({ instancePath }) => instancePath.slice(1)))]
}
