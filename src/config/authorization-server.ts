/** The setting `authorizationServer`: an external authorization server, which issues the access tokens. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { issuerProblem, secureAddressProblem } from './address.ts'

const DEFAULT_CLAIM = 'pre-authorized_code'
const DEFAULT_STATE_CLAIM = 'issuer_state'
/** Claims that every token may have, which cannot identify a session. */
const NO_SESSION = ['iss', 'aud', 'exp', 'nbf', 'iat', 'scope', 'client_id', 'cnf', 'typ', 'active', 'token_type']

export const AuthorizationServerSetting = Type.Object(
  {
    issuer: Type.String({
      description: 'Its issuer identifier, https; `iss` of its tokens, and where its metadata is found (RFC 8414)',
    }),
    jwksUri: Type.Optional(Type.String({ description: 'Its keys; looked up in its metadata when absent' })),
    audience: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'What `aud` of its tokens must contain; when absent, `baseUrl` or the credential issuer identifier of the session',
      }),
    ),
    sessionClaim: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'The claim of its tokens that has the pre-authorized code of the session; `pre-authorized_code` when absent',
      }),
    ),
    issuerStateClaim: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'The claim of its tokens that has the `issuer_state` of an offer with the grant `authorization_code`; `issuer_state` when absent',
      }),
    ),
    introspection: Type.Optional(
      Type.Object(
        {
          endpoint: Type.Optional(Type.String({ description: 'Looked up in its metadata when absent' })),
          clientId: Type.String({
            minLength: 1,
            description: 'The client id of this service at the endpoint, by client_secret_basic',
          }),
          clientSecret: Type.String({ minLength: 1, description: 'The secret of clientId' }),
        },
        {
          additionalProperties: false,
          description: 'Every token is asked about there (RFC 7662), and none is read here: for opaque tokens',
        },
      ),
    ),
  },
  {
    additionalProperties: false,
    description: 'An OAuth 2.0 server that gives the access tokens; this service has no token endpoint of its own then',
  },
)
type AuthorizationServerSetting = Static<typeof AuthorizationServerSetting>

export interface AuthorizationServerConfig extends AuthorizationServerSetting {
  readonly sessionClaim: string
  readonly issuerStateClaim: string
}

/** Adds the defaults to a valid setting. */
export function resolveAuthorizationServer(settings: AuthorizationServerSetting): AuthorizationServerConfig {
  const { sessionClaim = DEFAULT_CLAIM, issuerStateClaim = DEFAULT_STATE_CLAIM } = settings
  return { ...settings, sessionClaim, issuerStateClaim }
}

/** Returns the mistakes in the setting. */
export function findAuthorizationServerMistakes(settings: AuthorizationServerSetting | undefined): string[] {
  if (settings === undefined) return []
  const { issuer, jwksUri, introspection } = settings
  const { sessionClaim, issuerStateClaim } = resolveAuthorizationServer(settings)
  const example = 'https://login.example'
  const problemOf = (url: string | undefined) => (url === undefined ? undefined : secureAddressProblem(url, example))
  const problems = {
    issuer: issuerProblem(issuer, example),
    jwksUri: problemOf(jwksUri),
    'introspection.endpoint': problemOf(introspection?.endpoint),
  }
  const mistakes = Object.entries(problems).flatMap(([name, problem]) =>
    problem === undefined ? [] : [`authorizationServer.${name}: ${problem}`],
  )
  for (const [name, claim] of Object.entries({ sessionClaim, issuerStateClaim })) {
    if (NO_SESSION.includes(claim)) {
      mistakes.push(`authorizationServer.${name}: ${claim} has a meaning of its own and names no session`)
    }
  }
  if (sessionClaim === issuerStateClaim) {
    mistakes.push('authorizationServer.issuerStateClaim: it must be another claim than sessionClaim')
  }
  return mistakes
}
