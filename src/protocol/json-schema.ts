/** Our own JSON Schemas, made into functions. */
import { Ajv, type ValidateFunction } from 'ajv'

/**
 * The function for a schema that this project has written; `all`: every mistake and not only the first. That the schema is
 * one, the tests look at: to ask here would compile the schema of all schemas first, which costs more than the rest. Nor is
 * the code of the function made shorter, which takes as long as it takes to make it.
 */
export function compileSchema(schema: object, { all }: { readonly all: boolean }): ValidateFunction {
  // With `verbose` a mistake has its schema, and so the names that were possible.
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
