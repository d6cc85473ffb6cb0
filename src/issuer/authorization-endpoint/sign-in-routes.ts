/** The routes of the sign-in pages, and those to which a browser returns from the provider and after a presentation. */
import type { FastifyRequest } from 'fastify'
import { SIGN_IN_PATH } from '../../config/authentication.ts'
import type { App } from '../../http/app-type.ts'
import { refuse } from '../../protocol/error.ts'
import type { IssuerContext } from '../context.ts'
import { browserCookieOf, redirectBrowser, sendBrowserStep } from './browser.ts'
import {
  declineSignIn,
  loadConfigurationsOf,
  requireDatasets,
  requireRequestOfVisit,
  type SignInVisit,
} from './person-decision.ts'
import { createPresentationStart, finishPresentation, PRESENTED_PATH } from './presentation.ts'
import * as schemas from './schemas.ts'
import { beginSignIn, finishSignIn } from './sign-in.ts'
import { presentationPage, signInPage } from './sign-in-page.ts'
import { SIGN_IN_ANSWER_PATH } from './sign-in-provider.ts'

const config = { isForBrowsers: true } as const
/** The options of routes whose visits decide or start something, so that they have no HEAD route. */
const steps = { config, exposeHeadRoute: false } as const

/** Adds the routes of the sign-in: its page, start and stop, the provider's response, and the end of a presentation. */
export function addSignInRoutes(app: App, context: IssuerContext): void {
  addPageRoute(app, context)
  addStartAndStopRoutes(app, context)
  addAnswerRoutes(app, context)
}

function addPageRoute(app: App, context: IssuerContext): void {
  app.get(SIGN_IN_PATH, { config, schema: schemas.signInRoute }, async (request, reply) => {
    requireDatasets(context)
    const visit = visitOf(context, request, request.query.interaction)
    const identifiedRequest = await requireRequestOfVisit(context, visit)
    const configurations = await loadConfigurationsOf(context, identifiedRequest.request)
    const credentialNames = configurations.map(({ posted, id }) => {
      return [...(posted.credential_metadata?.display ?? []), { name: posted.scope ?? id }]
    })
    const issuerNames = context.config.issuer.names
    const issuer = context.config.codeFlow?.openidConnect?.issuer
    const provider = issuer && new URL(issuer).host
    return sendBrowserStep(reply, {
      page: signInPage({ ...identifiedRequest, issuerNames, credentialNames, provider }),
    })
  })
}

function addStartAndStopRoutes(app: App, context: IssuerContext): void {
  const startPresentation = createPresentationStart(context)
  app.get(`${SIGN_IN_PATH}/start`, { ...steps, schema: schemas.startSignInRoute }, async (request, reply) => {
    const visit = visitOf(context, request, request.query.interaction)
    const presentation = context.config.codeFlow?.presentation
    if (presentation === undefined) return redirectBrowser(reply, await beginSignIn(context, visit))
    return sendBrowserStep(reply, { page: presentationPage(await startPresentation(presentation, visit)) })
  })
  app.get(`${SIGN_IN_PATH}/stop`, { ...steps, schema: schemas.stopSignInRoute }, async (request, reply) => {
    requireDatasets(context)
    return sendBrowserStep(reply, await declineSignIn(context, visitOf(context, request, request.query.interaction)))
  })
}

/** Adds the routes to which a browser returns: from the provider, and after a presentation. */
function addAnswerRoutes(app: App, context: IssuerContext): void {
  app.get(SIGN_IN_ANSWER_PATH, { ...steps, schema: schemas.answerSignInRoute }, async (request, reply) => {
    const parameters = new URLSearchParams(request.query as Record<string, string>)
    return sendBrowserStep(reply, await finishSignIn(context, parameters, browserCookieOf(context, request)))
  })
  app.get(PRESENTED_PATH, { ...steps, schema: schemas.presentedRoute }, async (request, reply) => {
    const presentation = context.config.codeFlow?.presentation ?? refusePresentation()
    const { interaction, response_code: responseCode = '' } = request.query
    const answer = { visit: visitOf(context, request, interaction), responseCode }
    return sendBrowserStep(reply, await finishPresentation(context, presentation, answer))
  })
}

function visitOf(context: IssuerContext, request: FastifyRequest, id = ''): SignInVisit {
  return { id, cookie: browserCookieOf(context, request) }
}

function refusePresentation(): never {
  return refuse('not_found', 'nobody presents anything here; the setting authentication.presentation turns it on')
}
