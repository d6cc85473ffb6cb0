/**
 * For a server whose routes have no schemas: Fastify would otherwise load its own compilers of schemas, which are in no bundle, so that
 * `dist/` alone could not start.
 */
export const WITHOUT_SCHEMAS = {
  schemaController: {
    compilersFactory: {
      buildValidator: () => () => () => true,
      buildSerializer: () => () => (value: unknown) => JSON.stringify(value),
    },
  },
}
