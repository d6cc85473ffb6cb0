/** The routes of the issuance service, each in the file or the folder of its subject. */
import { adminRoute } from '../http/app.ts'
import type { App } from '../http/app-type.ts'
import { createOverviewReader } from '../operator/overview.ts'
import { addOperatorRoutes } from '../operator/routes.ts'
import { recordRefusals } from '../progress/record-refusals.ts'
import { addAuthorizationRoutes } from './authorization-endpoint/routes.ts'
import { addConfigurationRoutes } from './configuration-routes.ts'
import type { IssuerContext } from './context.ts'
import { addCredentialRoutes } from './credential-endpoint/routes.ts'
import { addDocumentRoutes } from './document-routes.ts'
import { issuerOverviewRoute, readIssuerOverview } from './overview.ts'
import { addIssuanceSessionRoutes } from './session-routes.ts'
import { addStatusRoutes } from './status-list/routes.ts'
import { addTokenRoutes } from './token-endpoint/routes.ts'

/** Adds all routes of the issuance service. */
export function addIssuerRoutes(app: App, context: IssuerContext): void {
  recordRefusals(app, context)
  addConfigurationRoutes(app, context)
  addIssuanceSessionRoutes(app, context)
  addDocumentRoutes(app, context)
  const overview = createOverviewReader(context, (isReady) => readIssuerOverview(context, isReady))
  app.get('/operations/overview', { ...adminRoute, schema: issuerOverviewRoute }, overview)
  addStatusRoutes(app, context)
  addOperatorRoutes(app, context)
  // With an external authorization server, this service has no token and authorization endpoints.
  if (context.externalAuthorizationServer === undefined) {
    addTokenRoutes(app, context)
    addAuthorizationRoutes(app, context)
  }
  addCredentialRoutes(app, context)
}
