/**
 * Requests without a route: unknown paths, other methods, and CORS preflight requests. All origins may call wallet
 * endpoints; other origins cannot call administrative endpoints and those that browsers navigate to. Both kinds share
 * path prefixes, so CORS is decided here by path.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { pathOf } from '../codec/url.ts'
import { refuse } from '../protocol/error.ts'
import type { App } from './app-type.ts'

export const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'WWW-Authenticate, DPoP-Nonce, Retry-After, X-Request-Id, OAuth-Client-Attestation-Challenge',
} as const

const ALLOWED_HEADERS =
  'Authorization, Content-Type, Accept, DPoP, OAuth-Client-Attestation, OAuth-Client-Attestation-PoP'

interface Route {
  readonly pattern: RegExp
  readonly methods: Set<string>
  admin: boolean
  /** Whether scripts of other origins may call it. */
  allowsAnyOrigin: boolean
}

/** The declared routes, by path. */
export type Routes = ReadonlyMap<string, Route>

/** Collects the routes that are added after this call. */
export function collectRoutes(app: App): Routes {
  const routes = new Map<string, Route>()
  app.addHook('onRoute', ({ url, method, config }) => {
    const route = routes.get(url) ?? {
      pattern: patternOf(url),
      methods: new Set(),
      admin: false,
      allowsAnyOrigin: true,
    }
    for (const name of [method].flat()) route.methods.add(name)
    route.admin ||= config?.admin === true
    route.allowsAnyOrigin &&= !route.admin && config?.isForBrowsers !== true
    routes.set(url, route)
  })
  return routes
}

/**
 * Tests whether the request has no route of its own. The path of a POST, such as `/credential-configuration/create`, is
 * no id of a GET beside it.
 */
export function isUnrouted(routes: Routes, { is404, method, url }: FastifyRequest): boolean {
  return is404 || routes.get(decodedPathOf(url))?.methods.has(method) === false
}

/**
 * Answers a request without a route: with 401 on administrative paths without an API key, then 204 for a preflight, 405
 * with `Allow`, or 404.
 */
export function answerUnrouted(
  routes: Routes,
  authenticate: (request: FastifyRequest) => string,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const path = decodedPathOf(request.url)
  const ownRoute = routes.get(path)
  const matchingRoutes = ownRoute ? [ownRoute] : [...routes.values()].filter(({ pattern }) => pattern.test(path))
  const admin = matchingRoutes.some((route) => route.admin)
  const allowsAnyOrigin = matchingRoutes.every((route) => route.allowsAnyOrigin)
  if (admin) authenticate(request)
  if (allowsAnyOrigin) reply.headers(CORS_HEADERS)
  const methods = new Set(matchingRoutes.flatMap((route) => [...route.methods]))
  // The path matches, but the router rejected a parameter: 404 instead of 405.
  if (methods.size === 0 || methods.has(request.method)) {
    refuse(
      'not_found',
      'there is nothing at this path; GET /openapi lists what there is, and vouchsafe console shows it in a browser',
    )
  }
  const allowedMethods = [...methods, 'OPTIONS'].join(', ')
  reply.header('allow', allowedMethods)
  if (request.method !== 'OPTIONS') refuse('method_not_allowed', `this path takes ${allowedMethods}`)
  if (allowsAnyOrigin) {
    reply.header('access-control-allow-methods', allowedMethods)
    reply.header('access-control-allow-headers', ALLOWED_HEADERS)
    reply.header('access-control-max-age', '7200')
  }
  reply.code(204).send()
}

/** Returns the path as the router does: decoded except for encoded slashes. */
function decodedPathOf(url: string): string {
  const path = pathOf(url)
  // Most paths have nothing to decode.
  if (!path.includes('%')) return path
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}

function patternOf(url: string): RegExp {
  const parts = url.split(/:[A-Za-z_]+/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^/]+')}$`)
}
