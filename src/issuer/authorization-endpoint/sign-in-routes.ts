/** The paths of a person's browser that signs in at the operator's OpenID Connect provider. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { SIGN_IN_PATH } from '../../config/authentication.ts'
import type { App } from '../../http/app-type.ts'
import { setBrowserPage } from '../../http/browser-page.ts'
import type { IssuerContext } from '../context.ts'
import { browserOf, sendTo } from './browser.ts'
import * as schemas from './schemas.ts'
import { beginSignIn, configurationsOf, declineSignIn, finishSignIn, requestOfVisit, signInOf } from './sign-in.ts'
import { noCredentialPage, signInPage } from './sign-in-page.ts'
import { SIGN_IN_ANSWER_PATH } from './sign-in-provider.ts'

const config = { isForBrowsers: true } as const

export function signInRoutes(app: App, context: IssuerContext): void {
  const visitOf = (request: FastifyRequest, id: string | undefined) => ({
    id: id ?? '',
    cookie: browserOf(context, request),
  })
  app.get(SIGN_IN_PATH, { config, schema: schemas.signInRoute }, async (request, reply) => {
    const { settings } = signInOf(context)
    const visit = visitOf(request, request.query.interaction)
    const stored = await requestOfVisit(context, visit)
    const configurations = await configurationsOf(context, stored)
    const credentials = configurations.map(({ posted, id }) => {
      return posted.credential_metadata?.display?.[0]?.name ?? posted.scope ?? id
    })
    const issuerName = context.config.issuer.display.name
    const provider = new URL(settings.issuer).host
    const page = signInPage({ id: visit.id, request: stored.request, issuerName, credentials, provider })
    return reply.send(setBrowserPage(reply, page))
  })
  app.get(`${SIGN_IN_PATH}/start`, { config, schema: schemas.startSignInRoute }, async (request, reply) =>
    sendTo(reply, await beginSignIn(context, visitOf(request, request.query.interaction))),
  )
  app.get(`${SIGN_IN_PATH}/stop`, { config, schema: schemas.stopSignInRoute }, async (request, reply) => {
    signInOf(context)
    return sendTo(reply, await declineSignIn(context, visitOf(request, request.query.interaction)))
  })
  app.get(SIGN_IN_ANSWER_PATH, { config, schema: schemas.answerSignInRoute }, (request, reply) =>
    answerSignIn(context, request, reply),
  )
}

async function answerSignIn(context: IssuerContext, request: FastifyRequest, reply: FastifyReply) {
  const parameters = new URLSearchParams(request.query as Record<string, string>)
  const { address, denied } = await finishSignIn(context, parameters, browserOf(context, request))
  return denied === undefined
    ? sendTo(reply, address)
    : reply.send(setBrowserPage(reply, noCredentialPage(denied, address)))
}
