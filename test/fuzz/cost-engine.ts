/** The endpoints of an engine, none of which needs an API key, for the search of costly requests. */
import { requestFields, signRequest } from '../../src/offchain/authentication/offchain-v2.ts'
import { signSecp256k1 } from '../../src/offchain/authentication/secp256k1.ts'
import { CONTRACT, ENGINE } from '../support/engine.ts'
import { bare } from './cost-request.ts'
import type { CostTarget } from './cost-world.ts'
import { grownHeader, grownText } from './growth.ts'

/** The key of the identity of test engines. */
const KEY = Buffer.alloc(32).fill(1, 31)
const RECIPIENT = { engine: ENGINE, contract: CONTRACT, chain: { id: '31337', addresses: 'evm' } } as const
const SCHEMES = ['secp256k1', 'sha256', 'eip712'] as const

/** Makes a target whose request to a component is signed in one of the three ways after it has grown. */
function signedTarget(scheme: (typeof SCHEMES)[number]): CostTarget {
  return {
    name: `engine PUT, signed by ${scheme}`,
    bytes: 700_000,
    places: ['uri', 'body', 'body', 'content-type', 'x-a', 'authorization', 'method'],
    make: ({ engine: { clock } }, growths) => {
      const of = (place: string, most: number) =>
        growths
          .filter((growth) => growth.place === place)
          .map((growth) => grownHeader(growth, most))
          .join('')
      const uri = `/a${encodeURI(of('uri', 5000))}`
      const body = growths
        .filter(({ place }) => place === 'body')
        .map(grownText)
        .join('')
      const headers = { 'content-type': `text/plain${of('content-type', 4000)}`, 'x-a': of('x-a', 4000) }
      const wire = Object.entries(headers).map(([name, value]) => ({ name, values: [value.trim()] }))
      const request = { method: 'PUT', uri, headers: wire, body: Buffer.from(body) }
      const now = clock.now.getTime()
      const life = { issuedAt: now, expiresAt: now + 60_000, nonce: Buffer.alloc(16, 7) }
      const fields = requestFields(request, RECIPIENT, life)
      const authorization =
        scheme === 'secp256k1' || fields === undefined
          ? signSecp256k1(request, RECIPIENT, { key: KEY, now: clock.now })
          : signRequest(fields, scheme, KEY)
      return Promise.resolve({
        ...{ service: 'engine', method: 'PUT', path: `/offchain/${CONTRACT}${uri}`, body },
        headers: { ...headers, authorization: authorization + of('authorization', 4000) },
      })
    },
  }
}

export const engineTargets: readonly CostTarget[] = [
  ...SCHEMES.map(signedTarget),
  bare('engine', 'GET', `/offchain/${CONTRACT}/a`),
  bare('engine', 'GET', '/offchain/a'),
  bare('engine', 'OPTIONS', `/offchain/${CONTRACT}/a`),
  bare('engine', 'GET', '/engine'),
  bare('engine', 'GET', '/openapi'),
]
