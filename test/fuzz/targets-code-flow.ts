/** A right request for every endpoint of the authorization code flow, from which the mutations start. */

import {
  authorizeForCode,
  authorizeUrl,
  bring,
  CLIENT_ID,
  declareWithScope,
  type Form,
  newVisitor,
  offerFor,
  PAR,
  push,
  SCOPE,
  sendDecision,
  walletAsking,
} from '../support/code-flow.ts'
import { dpopNonce, dpopProof } from '../support/dpop.ts'
import type { Services } from '../support/services.ts'
import { authorization, dataset, holderSigner } from '../support/wire.ts'
import type { Random } from './mutate.ts'
import type { FuzzRequest, Target } from './targets.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const JSON_HEADERS = { ...authorization, 'content-type': 'application/json' }

const configurations = new WeakMap<Services, Promise<string>>()

/** Declares a configuration with a scope, once. */
function configurationOf(services: Services): Promise<string> {
  const declared = configurations.get(services) ?? declareWithScope(services)
  configurations.set(services, declared)
  return declared
}

/** Makes the request of a wallet, without an offer or with one, and the session of that. */
async function asking(services: Services, withOffer: boolean) {
  const id = await configurationOf(services)
  // A visit is a row, and the process takes so many of them in a second.
  services.clock.now = new Date(services.clock.now.getTime() + 1000)
  if (!withOffer) {
    const details = JSON.stringify([{ type: 'openid_credential', credential_configuration_id: id }])
    return { sessionId: undefined, parameters: { scope: SCOPE, authorization_details: details } }
  }
  const { sessionId, issuerState } = await offerFor(services, id)
  return { sessionId, parameters: { scope: SCOPE, issuer_state: issuerState } }
}

function pushing(withSession: boolean): Target {
  const path = withSession ? '/auth/par/{session_id}' : '/auth/par'
  return {
    name: `issuer POST ${path}`,
    make: async (services, random) => {
      const { sessionId, parameters } = await asking(services, withSession)
      const url = withSession ? `${PAR}/${sessionId ?? ''}` : PAR
      const headers = random(2) === 0 ? FORM : { ...FORM, dpop: await proofFor(services, url) }
      const form = new URLSearchParams(walletAsking(parameters).form).toString()
      return { service: 'issuer', method: 'POST', path: new URL(url).pathname, headers, body: { form } }
    },
  }
}

async function proofFor(services: Services, url: string): Promise<string> {
  return dpopProof({ services, key: await holderSigner(), url, nonce: await dpopNonce(services) })
}

function visiting(withSession: boolean, isPushed: boolean): Target {
  const path = `/auth/authorize${withSession ? '/{session_id}' : ''}`
  return {
    name: `issuer GET ${path}${isPushed ? ', pushed' : ''}`,
    make: async (services) => {
      const { sessionId, parameters } = await asking(services, withSession)
      const { form } = walletAsking(parameters)
      const behind = withSession ? `/${sessionId ?? ''}` : ''
      const sent: Form = isPushed
        ? { client_id: CLIENT_ID, request_uri: await push(services, form, PAR + behind) }
        : form
      return { service: 'issuer', method: 'GET', path: authorizeUrl(sent, `/auth/authorize${behind}`), headers: {} }
    },
  }
}

async function begun(services: Services, random: Random) {
  const [{ parameters }, browser] = [await asking(services, random(2) === 0), newVisitor()]
  const requestUri = await push(services, walletAsking(parameters).form)
  const decision = 'issuer_state' in parameters ? { approved: true } : { credential_dataset: dataset }
  return { browser, decision, interaction: await bring(services, browser, { requestUri }) }
}

const interactions: readonly Target[] = [
  {
    name: 'issuer GET /auth/interaction/{interaction_id}',
    make: async (services, random) => {
      const { interaction } = await begun(services, random)
      return { service: 'issuer', method: 'GET', path: `/auth/interaction/${interaction}`, headers: authorization }
    },
  },
  {
    name: 'issuer POST /auth/interaction/complete/{interaction_id}',
    make: async (services, random): Promise<FuzzRequest> => {
      const { interaction, decision } = await begun(services, random)
      const path = `/auth/interaction/complete/${interaction}`
      const json = random(3) === 0 ? { denied: true, reason: 'Not yet.' } : decision
      return { service: 'issuer', method: 'POST', path, headers: JSON_HEADERS, body: { json } }
    },
  },
  {
    name: 'issuer GET /auth/return/{interaction_id}',
    make: async (services, random) => {
      const { interaction, browser, decision } = await begun(services, random)
      const { pathname, search } = new URL((await sendDecision(services, interaction, decision)).address)
      const headers = { cookie: browser.cookie ?? '' }
      return { service: 'issuer', method: 'GET', path: pathname + search, headers }
    },
  },
]

const code: Target = {
  name: 'issuer POST /auth/token-endpoint, authorization code',
  make: async (services) => {
    const { parameters } = await asking(services, false)
    const { form } = await authorizeForCode(services, { parameters })
    const body = { form: new URLSearchParams(form).toString() }
    return { service: 'issuer', method: 'POST', path: '/auth/token-endpoint', headers: FORM, body }
  },
}

export const codeFlowTargets: readonly Target[] = [
  pushing(false),
  pushing(true),
  visiting(false, false),
  visiting(false, true),
  visiting(true, false),
  visiting(true, true),
  ...interactions,
  code,
]
