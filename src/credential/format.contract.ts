/** The contract of credential formats: every format passes this suite, and nothing else is relied upon. */

import { createPublicKey, generateKeyPair, type KeyObject, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { configurationOf } from '../../test/support/configuration.ts'
import { isObject, type Json, type JsonObject, memberOf } from '../codec/json.ts'
import { MalformedError } from '../codec/malformed.ts'
import type { ClaimPosition } from '../codec/sd-jwt.ts'
import { parseCertificate } from '../keys/certificate.ts'
import { createSigner } from '../keys/file-signer.ts'
import { thumbprint } from '../keys/jwk.ts'
import { makeSelfSignedCertificate } from '../keys/make-certificate.ts'
import type { Signer } from '../keys/signer.ts'
import { ProtocolError } from '../protocol/error.ts'
import type { CredentialFormat, Evidence, Order, StatusListEntry } from './format.ts'

/** The facts about a format that the suite has to know. */
export interface FormatFixture {
  readonly format: CredentialFormat
  /** A configuration under which every claim can be hidden, where that can be. */
  readonly configuration: JsonObject
  /** The dataset that has these claims. */
  readonly dataset: (claims: JsonObject) => JsonObject
  /** Whether its credentials can also name entries in lists of the W3C. */
  readonly refersToBitstrings?: boolean
  /** Whether claims can be hidden; a format of which nothing can leaves out what is about that. */
  readonly hides: boolean
  /** Whether a claim can be hidden only with all that lies in it. */
  readonly flat?: boolean
  /** The parts of a credential that conceal its claims, when it is not an SD-JWT. */
  readonly concealed?: (credential: string) => readonly string[]
  /** Where the claims of the dataset are in a credential. */
  readonly root: readonly string[]
  /** Names that a dataset must not have. */
  readonly reserved: readonly string[]
}

const ISSUER = 'https://issuer.example'
const binding = {
  nonce: 'the nonce',
  audience: 'x509_hash:us',
  recipient: { responseUri: 'https://verifier.example/response' },
  encryptionKeyThumbprint: undefined,
  transactionData: [],
  at: new Date('2026-06-01T12:00:00Z'),
}
const validity = { issuedAt: new Date('2026-06-01T00:00:00Z'), expiresAt: new Date('2027-06-01T00:00:00Z') }

/** The same claims in every run: `issue` is what is tried, not luck. */
const runs = (numRuns: number) => ({ seed: 20_260_601, numRuns })

export function formatContract(fixture: FormatFixture): void {
  const { format, configuration, dataset, hides, root, reserved } = fixture
  const { flat = false, concealed = (credential: string) => credential.split('~').slice(1).filter(Boolean) } = fixture
  let issuer: Signer & { readonly key: KeyObject }
  let holder: Signer
  let stranger: Signer
  let strangerKey: KeyObject
  beforeAll(async () => {
    issuer = await issuerSigner()
    holder = createSigner((await newKeys()).privateKey, [])
    const keys = await newKeys()
    stranger = createSigner(keys.privateKey, [])
    strangerKey = keys.publicKey
  })

  const orderOf = (claims: JsonObject, status?: StatusListEntry): Order => ({
    configuration: configurationOf(configuration),
    dataset: dataset(claims),
    issuer: ISSUER,
    holderKey: holder.jwk,
    ...validity,
    ...(status && { status }),
  })
  const issue = (claims: JsonObject) => format.issue(orderOf(claims), issuer, randomBytes)
  const below = (...position: ClaimPosition): ClaimPosition => [...root, ...position]
  /** Without any claim, where they would be may be missing as well. */
  const claimsOf = ({ claims, securingMembers }: Evidence): Json =>
    root.reduce<Json>(
      (value, name) => (isObject(value) ? (memberOf(value, name) ?? {}) : {}),
      Object.fromEntries(Object.entries(claims).filter(([name]) => !securingMembers.includes(name))),
    )
  const problemsIn = (evidence: Evidence, key = issuer.key): string[] => {
    const certificates = evidence.issuer.chain.map((der) => Buffer.from(der).toString('base64'))
    const others = certificates.join() === issuer.x5c.join() ? [] : ['other certificates']
    return [...others, ...problemsOf(format, evidence, key)]
  }
  const isAsked = (check: string): boolean => format.notApplicableReasons[check] === undefined
  const takenClaims = anyClaims(reserved).filter((claims) => isTaken(fixture, claims))
  const holds = (evidence: Evidence): boolean => problemsIn(evidence).length === 0
  const example: JsonObject = {
    name: 'Ada',
    degrees: ['Bachelor of Science', { title: 'Master of Science', year: 1835 }],
    address: { city: 'London' },
  }

  it('reads as it was issued: by whom, to whom, of which type, until when', async () => {
    const credential = await issue(example)
    const held = format.readHeld(credential)
    const identifiers = isAsked('issuer.identifier') ? [ISSUER] : []
    expect(held.issuer.identifiers).toEqual(expect.arrayContaining(identifiers))
    expect(claimsOf(held)).toEqual(example)
    expect(held.expiresAt).toEqual(validity.expiresAt)
    const evidence = format.read(await format.present(credential, [below()], binding, holder))
    expect(problemsIn(evidence)).toEqual([])
    expect(evidence.formatProblem).toBe(undefined)
    expect(new Set(evidence.issuer.identifiers)).toEqual(new Set(identifiers))
    expect(evidence.issuer.chain.map((der) => Buffer.from(der).toString('base64'))).toEqual(issuer.x5c)
    expect(evidence.boundKey).toEqual({ jwk: holder.jwk, thumbprint: thumbprint(holder.jwk) })
    expect(evidence.types).toEqual(held.types)
    expect(evidence.status).toBe(undefined)
    for (const { at } of evidence.validity.notAfter) expect(at).toEqual(validity.expiresAt)
    for (const { at } of evidence.validity.notBefore) expect(at).toEqual(validity.issuedAt)
    expect(evidence.holder).toMatchObject({
      nonce: isAsked('holder.nonce') ? binding.nonce : undefined,
      audience: isAsked('holder.audience') ? binding.audience : undefined,
      presentedAt: isAsked('holder.fresh') ? binding.at : undefined,
    })
  })

  it('names its entry in a status list to whoever sees anything of it, and is not what was ordered with another', async () => {
    const entry = { index: 131_071, uri: 'https://issuer.example/status-list/a' }
    const order = orderOf(example, entry)
    const credential = await format.issue(order, issuer, randomBytes)
    const status = { status_list: { idx: entry.index, uri: entry.uri } }
    expect(format.readHeld(credential).status).toEqual(status)
    const evidence = format.read(await format.present(credential, [], binding, holder))
    expect(problemsIn(evidence)).toEqual([])
    expect(evidence.status).toEqual(status)
    expect(claimsOf(format.readHeld(credential))).toEqual(example)
    expect(format.matchesOrder(order, credential)).toBe(true)
    expect(format.matchesOrder(orderOf(example), credential)).toBe(false)
    for (const changed of [{ index: 0 }, { uri: 'https://issuer.example/status-list/b' }]) {
      expect(format.matchesOrder(orderOf(example, { ...entry, ...changed }), credential)).toBe(false)
    }
    const without = await issue(example)
    expect(format.matchesOrder(orderOf(example), without)).toBe(true)
    expect(format.matchesOrder(order, without)).toBe(false)
  })

  if (fixture.refersToBitstrings === true) {
    it('names its entries in lists of the W3C', async () => {
      const uri = 'https://issuer.example/status-list/a'
      const bitstrings = [{ purpose: 'revocation' as const, uri: `${uri}/revocation` }]
      const order = orderOf(example, { index: 7, uri, bitstrings })
      const credential = await format.issue(order, issuer, randomBytes)
      const entry = {
        type: 'BitstringStatusListEntry',
        statusListIndex: '7',
        statusListCredential: `${uri}/revocation`,
      }
      expect(format.readHeld(credential)).toMatchObject({
        credentialStatus: [entry],
        claims: { credentialStatus: [entry] },
      })
      expect([format.matchesOrder(order, credential), format.matchesOrder(orderOf(example), credential)]).toEqual([
        true,
        false,
      ])
    })
  }

  it('is what a query asks for with the meta of its configuration, and not with that of a type nobody has', async () => {
    const meta = format.metaOf(configuration)
    const held = format.readHeld(await issue(example))
    expect(Object.keys(meta)).toHaveLength(1)
    expect(format.matchesMeta(held, meta)).toBe(true)
    expect(format.matchesMeta(held, {})).toBe(true)
    expect([...format.findOwnQueryMistakes({ meta }, 'query')]).toEqual([])
    const other = JSON.parse(JSON.stringify(meta), (_, value: Json) =>
      typeof value === 'string' ? 'other' : value,
    ) as JsonObject
    expect(format.matchesMeta(held, other)).toBe(false)
  })

  it('is bound to one key, one nonce, one audience and one choice of claims', async () => {
    const credential = await issue(example)
    const by = format.read(await format.present(credential, [], binding, stranger))
    expect(problemsIn(by)).toEqual(['not signed by the bound key'])
    const elsewhere = format.read(
      await format.present(credential, [], { ...binding, nonce: 'n', audience: 'a' }, holder),
    )
    // Where they are not sent, the signature covers what both sides know of them.
    const sent = isAsked('holder.nonce') && isAsked('holder.audience')
    expect(problemsIn(elsewhere)).toEqual(sent ? ['nonce', 'audience'] : ['not signed by the bound key'])
    expect(problemsIn(format.read(await format.present(credential, [], binding, holder)), strangerKey)).toEqual([
      'not signed by the issuer',
    ])
  })

  it('has every claim of any dataset, all shown', async () => {
    await fc.assert(
      fc.asyncProperty(takenClaims, async (claims) => {
        const credential = await issue(claims)
        expect(claimsOf(format.readHeld(credential))).toEqual(claims)
        const evidence = format.read(await format.present(credential, [below()], binding, holder))
        expect(problemsIn(evidence)).toEqual([])
        expect(claimsOf(evidence)).toEqual(claims)
      }),
      runs(150),
    )
  })

  if (hides) {
    describe('of which claims are hidden', () => {
      it('is issued once: two credentials with the same claims have nothing concealed in common', async () => {
        const [one, other] = [await issue(example), await issue(example)]
        const parts = new Set(concealed(one))
        expect(parts.size).toBeGreaterThan(flat ? 2 : 5)
        expect(concealed(other).filter((part) => parts.has(part))).toEqual([])
      })

      it('shows nothing of a claim that is not presented', async () => {
        const presentation = await format.present(await issue(example), [below('name')], binding, holder)
        const evidence = format.read(presentation)
        expect(holds(evidence)).toBe(true)
        expect(claimsOf(evidence)).toEqual({ name: 'Ada' })
        const decoded = presentation.split(/[~.]/).map((part) => Buffer.from(part, 'base64url').toString())
        expect(decoded.filter((text) => /London|Science|degrees|address/.test(text))).toEqual([])
      })

      it('has no claim of any dataset, none shown', async () => {
        await fc.assert(
          fc.asyncProperty(takenClaims, async (claims) => {
            const evidence = format.read(await format.present(await issue(claims), [], binding, holder))
            expect(holds(evidence)).toBe(true)
            expect(claimsOf(evidence)).toEqual({})
          }),
          runs(50),
        )
      })

      it('has every claim of any dataset but one, wherever that is', async () => {
        await fc.assert(
          fc.asyncProperty(takenClaims, fc.nat(), async (claims, choice) => {
            const positions = positionsIn(claims, []).filter((position) => !flat || position.length === 1)
            const hidden = positions[choice % positions.length]
            fc.pre(hidden !== undefined)
            const shown = besides(claims, hidden).map((position) => below(...position))
            const evidence = format.read(await format.present(await issue(claims), shown, binding, holder))
            expect(problemsIn(evidence)).toEqual([])
            expect(claimsOf(evidence)).toEqual(without(claims, hidden) ?? {})
          }),
          runs(150),
        )
      })
    })
  }

  describe('of which anything is changed', () => {
    it('in one bit, wherever that is, does not hold', async () => {
      const presentation = await format.present(
        await issue(example),
        [below('name'), below('degrees')],
        binding,
        holder,
      )
      const accepted: string[] = []
      for (let at = 0; at < presentation.length; at++) {
        const bit = 1 << ((at * 5 + 3) % 7)
        const changed =
          presentation.slice(0, at) +
          String.fromCharCode(presentation.charCodeAt(at) ^ bit) +
          presentation.slice(at + 1)
        if (unlessMalformed(() => holds(format.read(changed)))) accepted.push(`bit ${bit} of character ${at}`)
      }
      expect(accepted).toEqual([])
    })

    it('by leaving out, doubling or moving a part, does not hold', async () => {
      const presentation = await format.present(await issue(example), [below()], binding, holder)
      const cut = fc.tuple(fc.nat(presentation.length), fc.nat(presentation.length), fc.nat(presentation.length))
      fc.assert(
        fc.property(cut, fc.boolean(), ([a, b, to], keep) => {
          const [from, until] = a < b ? [a, b] : [b, a]
          const rest = keep ? presentation : presentation.slice(0, from) + presentation.slice(until)
          const changed = rest.slice(0, to) + presentation.slice(from, until) + rest.slice(to)
          fc.pre(changed !== presentation)
          expect(unlessMalformed(() => holds(format.read(changed)))).toBe(false)
        }),
        runs(500),
      )
    })

    it('into anything else, is malformed at worst', () => {
      const piece = fc.oneof(fc.string(), fc.constantFrom('~', '.', 'e30', 'eyJ9', 'W10', '{}', ''), fc.base64String())
      fc.assert(
        fc.property(fc.array(piece), (pieces) => {
          expect(unlessMalformed(() => holds(format.read(pieces.join(''))))).toBe(false)
        }),
        runs(1000),
      )
    })
  })
}

/** Returns what keeps a presentation from proving anything, in words; the checks of the verifier ask more. */
function problemsOf({ notApplicableReasons }: CredentialFormat, evidence: Evidence, issuerKey: KeyObject): string[] {
  const { holder, boundKey, disclosuresProblem, formatProblem } = evidence
  const problems: (string | false | undefined)[] = [
    formatProblem,
    evidence.issuer.signatureProblem(issuerKey) && 'not signed by the issuer',
    disclosuresProblem,
    holder ? holder.problem : 'no holder',
    'problem' in boundKey
      ? boundKey.problem
      : holder?.signatureProblem(boundKey.jwk, binding) && 'not signed by the bound key',
    (evidence.statedTypes ?? []).some((type) => !evidence.types.includes(type)) && 'states another type',
    holder?.nonce !== binding.nonce && notApplicableReasons['holder.nonce'] === undefined && 'nonce',
    holder?.audience !== binding.audience && notApplicableReasons['holder.audience'] === undefined && 'audience',
    holder?.presentedAt?.getTime() !== binding.at.getTime() &&
      notApplicableReasons['holder.fresh'] === undefined &&
      'time',
    !holder?.coversPresentation && notApplicableReasons['holder.sd_hash'] === undefined && 'made for other claims',
  ]
  return problems.filter((problem) => typeof problem === 'string')
}

function isTaken({ format, dataset, configuration }: FormatFixture, claims: JsonObject): boolean {
  try {
    format.refuseInvalidDataset(dataset(claims), configurationOf(configuration))
    return true
  } catch (error) {
    if (error instanceof ProtocolError) return false
    throw error
  }
}

/** Returns false when something is malformed; any other exception is a mistake of ours. */
function unlessMalformed(holds: () => boolean): boolean {
  try {
    return holds()
  } catch (error) {
    if (error instanceof MalformedError) return false
    throw error
  }
}

/** Claims of every kind: nested, empty, in any script, and with names that mean something to the language. */
function anyClaims(reserved: readonly string[]): fc.Arbitrary<JsonObject> {
  const odd = [
    'constructor',
    'toString',
    'hasOwnProperty',
    'length',
    '0',
    '-1',
    '',
    ' ',
    'a.b',
    '$',
    'prototype',
    '~',
    'é',
  ]
  const name = fc
    .oneof(
      fc.constantFrom(...odd),
      fc.string({ unit: 'grapheme', maxLength: 6 }),
      fc.string({ unit: 'binary', maxLength: 3 }).filter((name) => name.isWellFormed()),
    )
    .filter((text) => !reserved.includes(text))
  const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4, depthIdentifier: 'claims' },
      fc.oneof(
        fc.string({ unit: 'grapheme' }),
        fc.integer(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constantFrom(null, '\u0000', ''),
      ),
      fc.array(tie('tree'), { maxLength: 4, depthIdentifier: 'claims' }),
      fc.dictionary(name, tie('tree'), { maxKeys: 4, depthIdentifier: 'claims', noNullPrototype: true }),
    ),
  }))
  const claims = fc.dictionary(name, tree, { maxKeys: 6, noNullPrototype: true })
  // The claims are as they come out of JSON: without -0, which JSON does not have.
  return claims.map((value) => JSON.parse(JSON.stringify(value)) as JsonObject)
}

function childrenOf(value: Json): readonly (readonly [string | number, Json])[] {
  if (Array.isArray(value)) return value.map((element, index) => [index, element] as const)
  return isObject(value) ? Object.entries(value) : []
}

function positionsIn(value: Json, at: ClaimPosition): ClaimPosition[] {
  return childrenOf(value).flatMap(([step, child]) => [[...at, step], ...positionsIn(child, [...at, step])])
}

/** Returns the positions that show everything except `hidden`, and what only leads to it. */
function besides(value: Json, hidden: ClaimPosition): ClaimPosition[] {
  const [step, ...rest] = hidden
  return childrenOf(value).flatMap(([name, child]) => {
    if (name !== step) return [[name]]
    if (rest.length === 0) return []
    return besides(child, rest).map((position) => [name, ...position])
  })
}

/** Returns `value` without the claim at `hidden`; undefined when nothing is left to show it for. */
function without(value: Json, hidden: ClaimPosition): Json | undefined {
  const [step, ...rest] = hidden
  const left = childrenOf(value).flatMap(([name, child]) => {
    if (name !== step) return [[name, child] as const]
    const shown = rest.length === 0 ? undefined : without(child, rest)
    return shown === undefined ? [] : [[name, shown] as const]
  })
  if (left.length === 0) return undefined
  return Array.isArray(value) ? left.map(([, child]) => child) : Object.fromEntries(left)
}

function newKeys() {
  return promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
}

async function issuerSigner(): Promise<Signer & { readonly key: KeyObject }> {
  const { privateKey, publicKey } = await newKeys()
  const der = makeSelfSignedCertificate({
    privateKey,
    publicKey,
    commonName: 'Issuer',
    serial: Buffer.from('0102', 'hex'),
    notBefore: validity.issuedAt,
    notAfter: validity.expiresAt,
  })
  return { ...createSigner(privateKey, [parseCertificate(der)]), key: createPublicKey(privateKey) }
}
