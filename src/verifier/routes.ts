/** The routes of the verification service, each in the file of its subject. */
import { adminRoute } from '../http/app.ts'
import type { App } from '../http/app-type.ts'
import { createOverviewReader } from '../operator/overview.ts'
import { addOperatorRoutes } from '../operator/routes.ts'
import { recordRefusals } from '../progress/record-refusals.ts'
import type { VerifierContext } from './context.ts'
import { addDigitalCredentialsRoutes } from './digital-credentials-routes.ts'
import { readVerifierOverview, verifierOverviewRoute } from './overview.ts'
import { addQueryRoutes } from './query-routes.ts'
import { createRequestQueue } from './request-object.ts'
import { addVerificationSessionRoutes } from './session-routes.ts'
import { listTrustAnchors, testChain } from './trust.ts'
import { chainTestRoute, trustAnchorsRoute } from './trust-schemas.ts'
import { addWalletRoutes } from './wallet-routes.ts'

/** Adds all routes of the verification service. */
export function addVerifierRoutes(app: App, context: VerifierContext): void {
  const signInTurn = createRequestQueue()
  recordRefusals(app, context)
  addQueryRoutes(app, context)
  addVerificationSessionRoutes(app, context)
  addWalletRoutes(app, context, signInTurn)
  addDigitalCredentialsRoutes(app, context, signInTurn)
  addTrustRoutes(app, context)
  addOperatorRoutes(app, context)
  const overview = createOverviewReader(context, (isReady) => readVerifierOverview(context, isReady))
  app.get('/operations/overview', { ...adminRoute, schema: verifierOverviewRoute }, overview)
}

function addTrustRoutes(app: App, context: VerifierContext): void {
  app.get('/trust-anchors', { ...adminRoute, schema: trustAnchorsRoute }, () => listTrustAnchors(context))
  app.post('/trust-anchors/test', { ...adminRoute, schema: chainTestRoute }, ({ id, body }) =>
    testChain(context, body, { logger: context.log, requestId: id }),
  )
}
