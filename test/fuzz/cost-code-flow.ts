/**
 * Requests of the authorization code flow in which something has grown: what a stranger can send before anybody is
 * asked.
 */
import { authorizeUrl, CLIENT_ID, declareWithScope, PAR, push, SCOPE, walletAsking } from '../support/code-flow.ts'
import { dpopNonce, dpopProof } from '../support/dpop.ts'
import { holderSigner } from '../support/wire.ts'
import { FORM, formOf } from './cost-request.ts'
import type { CostTarget, CostWorld } from './cost-world.ts'
import { grown, grownHeader, grownValue, writeGrown } from './growth.ts'

const FIELDS = ['scope', 'state', 'client_id', 'redirect_uri', 'issuer_state', 'code_challenge', 'dpop_jkt', 'extra']
const DETAILS = ['details.type', 'details.locations', 'details.credential_configuration_id', 'details.extra', 'details']

const configurations = new WeakMap<CostWorld, Promise<string>>()

function configurationOf(world: CostWorld): Promise<string> {
  const declared = configurations.get(world) ?? declareWithScope(world.world.services)
  configurations.set(world, declared)
  return declared
}

function pushing(withProof: boolean): CostTarget {
  return {
    name: `issuer POST pushed request${withProof ? ', with a proof' : ''}`,
    bytes: 11_000,
    places: [...FIELDS.map((name) => `form.${name}`), ...DETAILS, 'form', 'whole'],
    make: async (world, growths) => {
      const { services } = world.world
      const detail = { type: 'openid_credential', credential_configuration_id: await configurationOf(world) }
      const details = grown(
        [detail],
        'details',
        growths.map((each) => ({ ...each, place: each.place.replace('details.', 'details.0.') })),
      )
      const whole = growths.find(({ place }) => place === 'details')
      const text = writeGrown(whole === undefined ? details : grownValue(whole))
      const { form } = walletAsking({ scope: SCOPE, authorization_details: text })
      const parts = { services, key: await holderSigner(), url: PAR, nonce: await dpopNonce(services) }
      const headers = withProof ? { ...FORM, dpop: await dpopProof(parts) } : FORM
      return { service: 'issuer', method: 'POST', path: '/auth/par', headers, body: formOf(form, growths) }
    },
  }
}

/** The target is a browser that brings what was pushed, with a cookie. */
const visiting: CostTarget = {
  name: 'issuer GET authorize, pushed',
  bytes: 11_000,
  places: ['cookie', 'query', 'query.end'],
  make: async (world, growths) => {
    const { services } = world.world
    await configurationOf(world)
    // A visit is a row, and the process takes so many of them in a second.
    services.clock.now = new Date(services.clock.now.getTime() + 1000)
    const requestUri = await push(services, walletAsking().form)
    const url = authorizeUrl({ client_id: CLIENT_ID, request_uri: requestUri }, '/auth/authorize')
    const of = (place: string) => growths.find((growth) => growth.place === place)
    const [cookie, query, end] = [of('cookie'), of('query'), of('query.end')]
    const more = [query && `&extra=${encodeURIComponent(grownHeader(query, 3000))}`, end && grownHeader(end, 3000)]
    const path = url + more.map((each) => encodeURI(each ?? '').replaceAll('#', '')).join('')
    const headers = cookie === undefined ? {} : { cookie: grownHeader(cookie) }
    return { service: 'issuer', method: 'GET', path, headers }
  },
}

export const codeFlowCostTargets: readonly CostTarget[] = [pushing(false), pushing(true), visiting]
