/**
 * What has no route: unknown paths, known paths with another method, and the preflight requests of browsers.
 * CORS is here because the two kinds of endpoint share their path prefixes: any origin may call the wallet's, none the others.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { refuse } from '../protocol/error.ts'
import type { Authenticate } from './api-key.ts'
import type { App } from './app-type.ts'

export const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'WWW-Authenticate, X-Request-Id',
} as const

interface Routes {
  readonly pattern: RegExp
  readonly methods: Set<string>
  admin: boolean
}

/** Watches the routes that are added from now on. */
export function collectRoutes(app: App): ReadonlyMap<string, Routes> {
  const routes = new Map<string, Routes>()
  app.addHook('onRoute', ({ url, method, config }) => {
    const known = routes.get(url) ?? { pattern: patternOf(url), methods: new Set(), admin: false }
    for (const name of [method].flat()) known.methods.add(name)
    known.admin ||= config?.admin === true
    routes.set(url, known)
  })
  return routes
}

/** 401 before anything else on an administrative path; then 204 for a preflight, 405 with `Allow`, or 404. */
export function answerUnrouted(
  routes: ReadonlyMap<string, Routes>,
  authenticate: Authenticate,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const path = request.url.split('?', 1)[0] ?? ''
  const route = [...routes.values()].find(({ pattern }) => pattern.test(path))
  if (route === undefined) return refuse('not_found', 'there is nothing at this path; GET /openapi lists what there is')
  if (route.admin) authenticate(request.headers.authorization)
  const allowed = [...route.methods, 'OPTIONS'].join(', ')
  reply.header('allow', allowed)
  if (request.method === 'OPTIONS') {
    if (!route.admin) {
      reply.header('access-control-allow-methods', allowed)
      reply.header('access-control-allow-headers', 'Authorization, Content-Type, Accept')
      reply.header('access-control-max-age', '7200')
    }
    reply.code(204).send()
    return
  }
  refuse('method_not_allowed', `this path takes ${allowed}`)
}

function patternOf(url: string): RegExp {
  const parts = url.split(/:[A-Za-z_]+/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^/]+')}$`)
}
