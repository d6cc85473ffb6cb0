/** Signed requests to off-chain components, each wrong in one way: nobody is recognised. And that the good ones are. */
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { describe, expect, it } from 'vitest'
import { type AuthenticationInput, authenticate } from '../../src/offchain/authentication/authenticate.ts'
import { loadRecovery } from '../../src/offchain/authentication/key-recovery.ts'
import { requestFields, type SignatureScheme, signRequest } from '../../src/offchain/authentication/offchain-v2.ts'
import { accountOfKey } from '../../src/offchain/authentication/recover.ts'
import { signSecp256k1 } from '../../src/offchain/authentication/secp256k1.ts'
import type { RequestLifetime } from '../../src/offchain/authentication/signed-request.ts'
import type { HttpRequestData } from '../../src/offchain/http-data.ts'

const recover = await loadRecovery()
const signerOf = (input: AuthenticationInput) => authenticate(input, recover)

const KEY = new Uint8Array(32).fill(9)
const NOW = 1_764_000_000_000
const ORDER = secp256k1.Point.Fn.ORDER
const SECOND = 1000
const MINUTE = 60 * SECOND

type Input = AuthenticationInput & { readonly request: HttpRequestData }

const GOOD: Input = {
  engine: `00${'e1'.repeat(20)}`,
  contract: `00${'c1'.repeat(20)}`,
  chain: { id: '31337', addresses: 'evm' },
  now: new Date(NOW),
  addresses: [accountOfKey(new Uint8Array(32).fill(8), 'evm'), accountOfKey(KEY, 'evm')],
  request: {
    method: 'PUT',
    uri: '/shares/7?part=1',
    headers: [{ name: 'content-type', values: ['application/octet-stream'] }],
    body: new Uint8Array(64).fill(5),
  },
}

/** Signs what a good client would, at a time and for a life of its own choice. */
type Sign = (
  input: Input,
  change?: { readonly at?: number; readonly key?: Uint8Array } & Partial<RequestLifetime>,
) => string

const legacy: Sign = (input, { at = NOW, key = KEY } = {}) =>
  signSecp256k1(input.request, input, { key, now: new Date(at) })

const v2 =
  (scheme: SignatureScheme): Sign =>
  (input, { at = NOW, key = KEY, ...life } = {}) => {
    const chosen = { issuedAt: at, expiresAt: at + MINUTE, nonce: new Uint8Array(16).fill(3), ...life }
    const fields = requestFields(input.request, input, chosen)
    if (fields === undefined) throw new Error('this request cannot be signed')
    return signRequest(fields, scheme, key)
  }

function sent(input: Input, ...values: string[]): Input {
  const headers = [...input.request.headers, { name: 'authorization', values }]
  return { ...input, request: { ...input.request, headers } }
}

/** Changes r, s and recovery bit of a header, and writes the header again. */
function resigned(
  header: string,
  change: (parts: { r: bigint; s: bigint; odd: boolean }) => { r: bigint; s: bigint; odd: boolean },
) {
  const isLegacy = header.startsWith('secp256k1')
  const words = header.split(' ')
  const place = isLegacy ? 1 : 5
  const hex = words[place] ?? ''
  const compact = isLegacy ? hex.slice(2) : hex.slice(0, 128)
  const odd = isLegacy ? hex.startsWith('01') : hex.endsWith('1c')
  const made = change({ r: BigInt(`0x${compact.slice(0, 64)}`), s: BigInt(`0x${compact.slice(64)}`), odd })
  const written = [made.r, made.s].map((number) => number.toString(16).padStart(64, '0')).join('')
  const word = isLegacy ? `0${Number(made.odd)}${written}` : `${written}${made.odd ? '1c' : '1b'}`
  return words.with(place, word).join(' ')
}

interface Attack {
  readonly attack: string
  /** The request that arrives, of what the owner signed for {@link GOOD}. */
  readonly arrives: (sign: Sign) => Input
}

const other = (address: string): string => `${address.slice(0, -2)}ff`
const withRequest = (change: Partial<HttpRequestData>): Input => ({ ...GOOD, request: { ...GOOD.request, ...change } })
const replayed = (input: Input) => (sign: Sign) => sent(input, sign(GOOD))
const rewritten = (change: (header: string) => string) => (sign: Sign) => sent(GOOD, change(sign(GOOD)))

/** The same signature with s in the other half of the group's order, which anybody can make of a header. */
const withOtherS = (header: string): string => resigned(header, ({ r, s, odd }) => ({ r, s: ORDER - s, odd: !odd }))

const attacks: readonly Attack[] = [
  { attack: 'is replayed to another engine', arrives: replayed({ ...GOOD, engine: other(GOOD.engine) }) },
  { attack: 'is replayed to another contract', arrives: replayed({ ...GOOD, contract: other(GOOD.contract) }) },
  {
    attack: 'is sent to the contract as if it were the engine',
    arrives: replayed({ ...GOOD, engine: GOOD.contract, contract: GOOD.engine }),
  },
  { attack: 'is replayed to another path', arrives: replayed(withRequest({ uri: '/shares/8?part=1' })) },
  { attack: 'is replayed with another query', arrives: replayed(withRequest({ uri: '/shares/7?part=2' })) },
  { attack: 'is replayed without its query', arrives: replayed(withRequest({ uri: '/shares/7' })) },
  {
    attack: 'is replayed to the same path, encoded otherwise',
    arrives: replayed(withRequest({ uri: '/shares/%37?part=1' })),
  },
  { attack: 'is replayed with another method', arrives: replayed(withRequest({ method: 'GET' })) },
  { attack: 'is replayed with the method in another case', arrives: replayed(withRequest({ method: 'put' })) },
  { attack: 'is replayed with another body', arrives: replayed(withRequest({ body: new Uint8Array(64).fill(6) })) },
  { attack: 'is replayed without its body', arrives: replayed(withRequest({ body: new Uint8Array() })) },
  {
    attack: 'moves a byte from the method to the uri',
    arrives: replayed(withRequest({ method: 'PU', uri: 'T/shares/7?part=1' })),
  },
  { attack: 'arrives far too late', arrives: (sign) => sent(GOOD, sign(GOOD, { at: NOW - 3600 * SECOND })) },
  { attack: 'arrives a moment too late', arrives: (sign) => sent(GOOD, sign(GOOD, { at: NOW - MINUTE - 1 })) },
  { attack: 'is of the future', arrives: (sign) => sent(GOOD, sign(GOOD, { at: NOW + 3600 * SECOND })) },
  { attack: 'is a moment too early', arrives: (sign) => sent(GOOD, sign(GOOD, { at: NOW + 30 * SECOND + 1 })) },
  {
    attack: 'is signed by a key that nobody asked for',
    arrives: (sign) => sent(GOOD, sign(GOOD, { key: new Uint8Array(32).fill(7) })),
  },
  {
    attack: 'has the other s',
    arrives: rewritten((header) => resigned(header, ({ r, s, odd }) => ({ r, s: ORDER - s, odd }))),
  },
  {
    attack: 'has the other point',
    arrives: rewritten((header) => resigned(header, (parts) => ({ ...parts, odd: !parts.odd }))),
  },
  {
    attack: 'has another r',
    arrives: rewritten((header) => resigned(header, (parts) => ({ ...parts, r: parts.r ^ 1n }))),
  },
  {
    attack: 'has another s',
    arrives: rewritten((header) => resigned(header, (parts) => ({ ...parts, s: parts.s ^ 1n }))),
  },
  {
    attack: 'has r and s that are zero',
    arrives: rewritten((header) => resigned(header, ({ odd }) => ({ r: 0n, s: 0n, odd }))),
  },
  {
    attack: 'has the order of the group for r',
    arrives: rewritten((header) => resigned(header, (parts) => ({ ...parts, r: ORDER }))),
  },
  {
    attack: 'has the order of the group for s',
    arrives: rewritten((header) => resigned(header, (parts) => ({ ...parts, s: ORDER }))),
  },
  {
    attack: 'has an s above the order of the group',
    arrives: rewritten((header) => resigned(header, (parts) => ({ ...parts, s: 2n ** 256n - 1n }))),
  },
  {
    attack: 'has a recovery id above 1',
    arrives: rewritten((header) => header.replace(/ 0[01](\w{128}) /, ' 02$1 ').replace(/1[bc]$/, '1d')),
  },
  {
    attack: 'has a recovery id above 3',
    arrives: rewritten((header) => header.replace(/ 0[01](\w{128}) /, ' 1b$1 ').replace(/1[bc]$/, '00')),
  },
  {
    attack: 'is written in upper case',
    arrives: rewritten((header) => header.replace(/[0-9a-f]{128,}/, (hex) => hex.toUpperCase())),
  },
  {
    attack: 'names its profile in another case',
    arrives: rewritten((header) => header.replace(/^\S+/, (name) => name.toUpperCase())),
  },
  { attack: 'has a hexadecimal digit more', arrives: rewritten((header) => header.replace(/([0-9a-f]{128,})/, '$10')) },
  {
    attack: 'has a hexadecimal digit less',
    arrives: rewritten((header) => header.replace(/([0-9a-f]{127,})[0-9a-f]/, '$1')),
  },
  { attack: 'has 0x before its signature', arrives: rewritten((header) => header.replace(/([0-9a-f]{128,})/, '0x$1')) },
  { attack: 'has two spaces somewhere', arrives: rewritten((header) => header.replace(/ ([^ ]*)$/, '  $1')) },
  { attack: 'has a space after it', arrives: rewritten((header) => `${header} `) },
  { attack: 'has a space before it', arrives: rewritten((header) => ` ${header}`) },
  { attack: 'has a tab instead of a space', arrives: rewritten((header) => header.replace(' ', '\t')) },
  { attack: 'has a line after it', arrives: rewritten((header) => `${header}\n`) },
  { attack: 'is cut short', arrives: rewritten((header) => header.slice(0, header.length / 2)) },
  { attack: 'is cut by a character', arrives: rewritten((header) => header.slice(0, -1)) },
  { attack: 'is empty', arrives: rewritten(() => '') },
  {
    attack: 'writes its time with a zero before it',
    arrives: rewritten((header) => header.replace(/ (\d{13})\b/, ' 0$1')),
  },
  { attack: 'writes its time with a sign', arrives: rewritten((header) => header.replace(/ (\d{13})\b/, ' +$1')) },
  { attack: 'writes its time with a fraction', arrives: rewritten((header) => header.replace(/ (\d{13})\b/, ' $1.0')) },
  { attack: 'moves its time', arrives: rewritten((header) => header.replace(String(NOW), String(NOW + 1))) },
  { attack: 'comes twice in one header', arrives: (sign) => sent(GOOD, sign(GOOD), sign(GOOD)) },
  { attack: 'comes with another one before it', arrives: (sign) => sent(GOOD, 'Bearer token', sign(GOOD)) },
  {
    attack: 'comes with another one after it, in a header of its own',
    arrives: (sign) => sent(sent(GOOD, sign(GOOD)), 'Bearer token'),
  },
  {
    attack: 'comes with another one, joined by a comma',
    arrives: (sign) => sent(GOOD, `${sign(GOOD)}, ${sign(GOOD)}`),
  },
  { attack: 'is asked about for nobody', arrives: (sign) => ({ ...sent(GOOD, sign(GOOD)), addresses: [] }) },
]

/** The attacks on what `offchain-v2` alone signs, and the older profile does not. */
const newer: readonly Attack[] = [
  { attack: 'has the other s, and the point that belongs to it', arrives: rewritten(withOtherS) },
  { attack: 'is replayed on another chain', arrives: replayed({ ...GOOD, chain: { id: '1', addresses: 'evm' } }) },
  {
    attack: 'is replayed with another content type',
    arrives: replayed(withRequest({ headers: [{ name: 'content-type', values: ['text/html'] }] })),
  },
  { attack: 'is replayed without its content type', arrives: replayed(withRequest({ headers: [] })) },
  {
    attack: 'has two content types',
    arrives: replayed(
      withRequest({ headers: [{ name: 'content-type', values: ['application/octet-stream', 'text/html'] }] }),
    ),
  },
  {
    attack: 'has a content type in another header as well',
    arrives: replayed(
      withRequest({ headers: [...GOOD.request.headers, { name: 'Content-Type', values: ['text/html'] }] }),
    ),
  },
  {
    attack: 'has expired by a moment',
    arrives: (sign) => sent(GOOD, sign(GOOD, { at: NOW - MINUTE, expiresAt: NOW })),
  },
  {
    attack: 'would live for longer than five minutes',
    arrives: (sign) => sent(GOOD, sign(GOOD, { expiresAt: NOW + 5 * MINUTE + 1 })),
  },
  {
    attack: 'expires before it is issued',
    arrives: (sign) => sent(GOOD, sign(GOOD, { at: NOW + 20 * SECOND, expiresAt: NOW + 10 * SECOND })),
  },
  {
    attack: 'has its expiry moved',
    arrives: rewritten((header) => header.replace(String(NOW + MINUTE), String(NOW + 2 * MINUTE))),
  },
  {
    attack: 'has another nonce',
    arrives: rewritten((header) => header.replace('03'.repeat(16), `${'03'.repeat(15)}04`)),
  },
  {
    attack: 'names the other scheme',
    arrives: rewritten((header) =>
      header.includes('sha256') ? header.replace('sha256', 'eip712') : header.replace('eip712', 'sha256'),
    ),
  },
  {
    attack: 'names a scheme that there is not',
    arrives: rewritten((header) => header.replace(/sha256|eip712/, 'constructor')),
  },
  { attack: 'leaves its scheme out', arrives: rewritten((header) => header.replace(/(sha256|eip712) /, '')) },
]

const profiles: readonly (readonly [string, Sign, readonly Attack[]])[] = [
  ['secp256k1', legacy, attacks],
  ['offchain-v2 by sha256', v2('sha256'), [...attacks, ...newer]],
  ['offchain-v2 by eip712', v2('eip712'), [...attacks, ...newer]],
]

describe.each(profiles)('a request signed with %s', (_, sign, table) => {
  it('is recognised when nothing is wrong, however the header’s name is written', () => {
    const good = sent(GOOD, sign(GOOD))
    expect(signerOf(good)?.address).toBe(accountOfKey(KEY, 'evm'))
    const headers = good.request.headers.map(({ name, values }) => ({ name: name.toUpperCase(), values }))
    expect(signerOf({ ...good, request: { ...good.request, headers } })?.address).toBe(accountOfKey(KEY, 'evm'))
  })

  it.each(table)('is not when it $attack', ({ arrives }) => {
    const input = arrives(sign)
    expect(JSON.stringify(input)).not.toBe(JSON.stringify(sent(GOOD, sign(GOOD))))
    expect(signerOf(input)).toBeUndefined()
  })

  it('is the same when it comes again to the same engine, so that it is known as spent', () => {
    const input = sent(GOOD, sign(GOOD))
    const [first, again] = [signerOf(input), signerOf({ ...input, now: new Date(NOW + 10 * SECOND) })]
    expect(first?.id).toMatch(/^[0-9a-f]{64}$/)
    expect(again?.id).toBe(first?.id)
    // A nonce is remembered for as long as its request would be accepted, and no moment less.
    const until = first?.until.getTime() ?? 0
    expect(signerOf({ ...input, now: new Date(until) })).toBeUndefined()
    expect(signerOf({ ...input, now: new Date(until - 1) })?.id).toBe(first?.id)
  })

  it('is another when anything in it is, though a nonce were used again', () => {
    const one = signerOf(sent(GOOD, sign(GOOD)))
    const elsewhere = withRequest({ uri: '/shares/9' })
    expect(signerOf(sent(elsewhere, sign(elsewhere)))?.id).not.toBe(one?.id)
    expect(signerOf(sent(GOOD, sign(GOOD, { at: NOW - 1 })))?.id).not.toBe(one?.id)
  })
})

describe('a signature of the profile secp256k1 with a high s', () => {
  it('is of the same signer, and the same request', () => {
    const header = legacy(GOOD)
    const [low, high] = [header, withOtherS(header)].map((each) => signerOf(sent(GOOD, each)))
    expect(withOtherS(header)).not.toBe(header)
    expect(low?.address).toBe(accountOfKey(KEY, 'evm'))
    expect(high).toEqual(low)
  })
})

describe('a signature of one profile', () => {
  it.each([
    [
      'secp256k1',
      'offchain-v2',
      (header: string) =>
        header.replace(
          /^\S+ (..)(\w{128}) (\d+)$/,
          (_, v: string, rs: string, time: string) =>
            `offchain-v2 sha256 ${time} ${Number(time) + MINUTE} ${'03'.repeat(16)} ${rs}${v === '00' ? '1b' : '1c'}`,
        ),
      legacy,
    ],
    [
      'offchain-v2',
      'secp256k1',
      (header: string) =>
        header.replace(
          /^offchain-v2 sha256 (\d+) \d+ \w{32} (\w{128})(..)$/,
          (_, time: string, rs: string, v: string) => `secp256k1 ${v === '1b' ? '00' : '01'}${rs} ${time}`,
        ),
      v2('sha256'),
    ],
  ])('of %s is none of %s', (_, to, rewrite, sign) => {
    const header = rewrite(sign(GOOD))
    expect(header.startsWith(`${to} `)).toBe(true)
    expect(signerOf(sent(GOOD, header))).toBeUndefined()
  })

  it('of both schemes of offchain-v2 over the same fields is one request', () => {
    const [hashed, typed] = (['sha256', 'eip712'] as const).map((scheme) => signerOf(sent(GOOD, v2(scheme)(GOOD))))
    expect(hashed?.id).toBe(typed?.id)
  })

  it('is typed data on EVM chains alone', () => {
    const chain = { id: '31337', addresses: 'partisia' } as const
    const input = { ...GOOD, chain, addresses: [accountOfKey(KEY, 'partisia')] }
    expect(signerOf(sent(input, v2('eip712')(input)))).toBeUndefined()
    expect(signerOf(sent(input, v2('sha256')(input)))?.address).toBe(accountOfKey(KEY, 'partisia'))
  })
})
