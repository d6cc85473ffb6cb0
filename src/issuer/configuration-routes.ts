/** The routes of credential configurations, for the application. */
import { addBodylessRoutes, adminRoute } from '../http/app.ts'
import type { App } from '../http/app-type.ts'
import { createConfiguration, getConfiguration, removeConfiguration } from './configurations.ts'
import type { IssuerContext } from './context.ts'
import * as schemas from './schemas.ts'

/** Adds the routes that create, return and remove configurations. */
export function addConfigurationRoutes(app: App, context: IssuerContext): void {
  app.post(
    '/credential-configuration/create',
    { ...adminRoute, schema: schemas.createConfigurationRoute },
    async ({ body, apiKeyLabel }, reply) => {
      const id = await createConfiguration(context, body, apiKeyLabel)
      return reply.code(201).type('text/plain').send(id)
    },
  )
  app.get(
    '/credential-configuration/:credential_configuration_id',
    { ...adminRoute, schema: schemas.getConfigurationRoute },
    ({ params }) => getConfiguration(context, params.credential_configuration_id),
  )
  addBodylessRoutes(app, (scope) => {
    scope.post(
      '/credential-configuration/remove/:credential_configuration_id',
      { ...adminRoute, schema: schemas.removeConfigurationRoute },
      async ({ params, apiKeyLabel }) => {
        await removeConfiguration(context, params.credential_configuration_id, apiKeyLabel)
        return {}
      },
    )
  })
}
