/**
 * Options for a server whose routes have no schemas: Fastify would otherwise load its own schema compilers, which are
 * in no bundle, and `dist/` alone could not start.
 */
export const WITHOUT_SCHEMAS = {
  schemaController: {
    compilersFactory: {
      buildValidator: () => () => () => true,
      buildSerializer: () => () => (value: unknown) => JSON.stringify(value),
    },
  },
}
