/** Compiles JSON Schemas of this project into functions. */
import { Ajv, type ValidateFunction } from 'ajv'
import { isObject } from '../codec/json.ts'

const validators = { first: new WeakMap<object, ValidateFunction>(), all: new WeakMap<object, ValidateFunction>() }

/**
 * Compiles a schema of this project, once for all who use it; with `all`, the function reports every mistake and not
 * only the first. The tests check the schemas themselves: to check them here would compile the meta-schema first, which
 * costs more than the rest. The generated code is not optimized, which takes as long as generating it.
 */
export function compileSchema(schema: object, { all }: { readonly all: boolean }): ValidateFunction {
  const validatorsBySchema = validators[all ? 'all' : 'first']
  const validate = validatorsBySchema.get(schema) ?? compileUncached(schema, all)
  validatorsBySchema.set(schema, validate)
  return validate
}

function compileUncached(schema: object, all: boolean): ValidateFunction {
  // With `verbose`, a mistake has its schema and so the possible names.
  const ajv = new Ajv({
    allErrors: all,
    verbose: true,
    strict: false,
    meta: false,
    validateSchema: false,
    code: { optimize: false },
  })
  return ajv.compile(schema)
}

/**
 * Returns the schema of an object without the rules for members that `value` lacks; their names remain. Most settings
 * are absent, and compiling the rules of all takes longer than the rest of a start.
 */
export function dropAbsentMembers<Schema extends { readonly properties?: object }>(
  schema: Schema,
  value: unknown,
): Schema {
  if (schema.properties === undefined || !isObject(value)) return schema
  const rules = Object.entries(schema.properties as Readonly<Record<string, object>>)
  const properties = Object.fromEntries(
    rules.map(([name, rule]) => [name, Object.hasOwn(value, name) ? dropAbsentMembers(rule, value[name]) : {}]),
  )
  return { ...schema, properties }
}
