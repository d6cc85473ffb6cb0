/** Status lists of an issuer that is trusted, which the verifier fetches: the answer of another server grows. */
import { randomBytes } from 'node:crypto'
import {
  bitstringEntryAt,
  bitstringParts,
  entries,
  type ListParts,
  tokenAt,
  tokenParts,
} from '../support/foreign-status.ts'
import { signWith, type World } from '../support/forge.ts'
import { grownCertificates } from './cost-certificates.ts'
import { plainResponse } from './cost-verifier.ts'
import { type CostTarget, grownJws } from './cost-world.ts'
import { type Growth, grown } from './growth.ts'

const HEADER = ['typ', 'kid', 'crit', 'extra'].map((name) => `list.header.${name}`)
const TOKEN = ['sub', 'iat', 'exp', 'ttl', 'status_list', 'status_list.bits', 'status_list.lst', 'extra']
const BITSTRING = [
  '@context',
  'type',
  'issuer',
  'id',
  'validFrom',
  'credentialSubject',
  'credentialSubject.encodedList',
  'extra',
]

function partsOf(world: World, uri: string, kind: 'token' | 'bitstring', growths: readonly Growth[]): ListParts {
  const packed = growths.find(({ place }) => place === 'packed')
  const bytes = packed === undefined ? entries(0, 0) : Buffer.alloc(Math.min(packed.size * 100, 5_000_000), packed.size)
  return kind === 'token' ? tokenParts(world, uri, bytes) : bitstringParts(world, uri, bytes)
}

function statusList(kind: 'token' | 'bitstring'): CostTarget {
  const payload = (kind === 'token' ? TOKEN : BITSTRING).map((name) => `list.payload.${name}`)
  const format = kind === 'token' ? 'dc+sd-jwt' : 'vc+sd-jwt'
  return {
    name: `verifier response, status list (${kind})`,
    bytes: 1_000_000,
    places: [...HEADER, ...payload, 'chain', 'chain', 'packed', 'packed'],
    make: async (world, growths) => {
      const uri = `https://lists.example/${randomBytes(8).toString('hex')}`
      const parts = partsOf(world.world, uri, kind, growths)
      const chain = growths.find(({ place }) => place === 'chain')
      const x5c = chain && { x5c: grownCertificates(world.world, chain).map((der) => der.toString('base64')) }
      const list = growths.map((growth) => ({ ...growth, place: growth.place.replace(/^list\./, '') }))
      const header = grown({ ...parts.header, ...x5c }, 'header', list)
      const text = await grownJws(header, grown(parts.payload, 'payload', list), signWith(parts.key))
      const headers = { 'content-type': parts.contentType }
      world.network.at.set(uri, { status: 200, headers, body: Buffer.from(text) })
      const reference =
        kind === 'token' ? tokenAt(uri, 0) : { credentialStatus: [bitstringEntryAt(uri, { statusListIndex: '0' })] }
      const request = await plainResponse(world, format, [], reference)
      return { ...request, answeredBytes: text.length }
    },
  }
}

export const statusTargets: readonly CostTarget[] = [statusList('token'), statusList('bitstring')]
