/** Compiles JSON Schemas of this project into functions. */
import { Ajv, type ValidateFunction } from 'ajv'

/**
 * Compiles a schema of this project; with `all`, the function reports every mistake and not only the first. The tests
 * check the schemas themselves: to check them here would compile the meta-schema first, which costs more than the rest.
 * The generated code is not optimized, which takes as long as generating it.
 */
export function compileSchema(schema: object, { all }: { readonly all: boolean }): ValidateFunction {
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
