/** The settings of the authorization code flow: how the person is identified, and what wallets may request. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { redirectUriProblem } from '../protocol/redirect-uri.ts'
import { secureAddressProblem } from './address.ts'
import {
  findOpenidConnectMistakes,
  type OpenidConnectConfig,
  OpenidConnectSetting,
  resolveOpenidConnect,
} from './openid-connect.ts'
import {
  findPresentationMistakes,
  type PresentationConfig,
  PresentationSetting,
  resolvePresentation,
} from './presentation.ts'
import { makeRequirementSetting } from './requirement.ts'

const AuthenticationSetting = Type.Object(
  {
    interactionUrl: Type.Optional(
      Type.String({
        description:
          'The page of your application where the person is asked, https; the browser is sent there with a parameter `interaction`',
      }),
    ),
    openidConnect: Type.Optional(OpenidConnectSetting),
    presentation: Type.Optional(PresentationSetting),
    offers: Type.Optional(
      Type.Union([Type.Literal('asked'), Type.Literal('trusted')], {
        description:
          'Whether the person is asked also where the wallet answers an offer; with `trusted` the offer alone is enough, and a page shows where unknown wallets are; `asked` when absent',
      }),
    ),
  },
  {
    additionalProperties: false,
    description:
      'How it is found out who a person is, by `interactionUrl`, `openidConnect` or `presentation`; turns the authorization code flow on',
  },
)

export const codeFlowSettings = {
  authentication: Type.Optional(AuthenticationSetting),
  pushedAuthorizationRequests: makeRequirementSetting(
    'Whether authorization requests must be pushed (PAR); each wallet may when absent',
  ),
  redirectUris: Type.Optional(
    Type.Array(Type.String(), {
      uniqueItems: true,
      description:
        'Redirect URIs of wallets that you know, each compared whole; wallets may also use https, 127.0.0.1, [::1] and private-use schemes with a dot',
    }),
  ),
}

type CodeFlowSettings = Static<Type.TObject<typeof codeFlowSettings>>

export interface CodeFlowConfig {
  /** The URL of the page that asks the person: the application's, or that of this service. */
  readonly interactionUrl: string
  /** The OpenID Connect provider for sign-in; undefined if the application asks the person. */
  readonly openidConnect: OpenidConnectConfig | undefined
  /** The verifier that requests another credential from the person; undefined if there is none. */
  readonly presentation: PresentationConfig | undefined
  /** Whether an offer alone is sufficient, without asking the person who has it. */
  readonly trustsOffers: boolean
  readonly pushedRequired: boolean
  readonly redirectUris: readonly string[]
}

/** The page of this service that asks whether the person wants to sign in. */
export const SIGN_IN_PATH = '/auth/sign-in'

/** Adds the defaults to valid settings; undefined if the authorization code flow is not configured. */
export function resolveCodeFlow(settings: CodeFlowSettings & { readonly baseUrl: string }): CodeFlowConfig | undefined {
  const { authentication, pushedAuthorizationRequests, redirectUris = [] } = settings
  return (
    authentication && {
      interactionUrl: authentication.interactionUrl ?? `${settings.baseUrl}${SIGN_IN_PATH}`,
      openidConnect: authentication.openidConnect && resolveOpenidConnect(authentication.openidConnect),
      presentation: authentication.presentation && resolvePresentation(authentication.presentation),
      trustsOffers: authentication.offers === 'trusted',
      pushedRequired: pushedAuthorizationRequests === 'required',
      redirectUris,
    }
  )
}

/** Returns the mistakes in the settings of the authorization code flow. */
export function findCodeFlowMistakes(
  settings: CodeFlowSettings & { readonly authorizationServer?: unknown },
): string[] {
  const { authentication, authorizationServer, redirectUris } = settings
  if (authentication === undefined) {
    return (['pushedAuthorizationRequests', 'redirectUris'] as const)
      .filter((name) => settings[name] !== undefined)
      .map((name) => `${name}: goes with authentication, which says how it is found out who a person is`)
  }
  const problems = (redirectUris ?? []).flatMap((uri, index) => {
    const problem = redirectUriProblem(uri, [uri])
    return problem === undefined ? [] : [`redirectUris[${index}]: ${problem}`]
  })
  return [
    ...(authorizationServer === undefined
      ? []
      : ['authentication: authorizationServer finds out who a person is; leave one of the two out']),
    ...findInteractionMistakes(authentication),
    ...problems,
  ]
}

function findInteractionMistakes(setting: Static<typeof AuthenticationSetting>): string[] {
  const { interactionUrl, openidConnect, presentation } = setting
  if ([interactionUrl, openidConnect, presentation].filter((way) => way !== undefined).length !== 1) {
    return ['authentication: write either interactionUrl, openidConnect or presentation, one of the three']
  }
  if (openidConnect !== undefined) return findOpenidConnectMistakes(openidConnect)
  if (presentation !== undefined) return findPresentationMistakes(presentation)
  const problem = interactionProblem(interactionUrl ?? '')
  return problem === undefined ? [] : [`authentication.interactionUrl: ${problem}`]
}

function interactionProblem(text: string): string | undefined {
  const problem = secureAddressProblem(text, 'https://portal.example/wallet')
  if (problem !== undefined) return problem
  if (text.includes('#')) return 'it must have no fragment'
  if (new URL(text).searchParams.has('interaction')) {
    return 'it must not have the parameter interaction, which is added'
  }
  return undefined
}
