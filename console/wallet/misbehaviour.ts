/**
 * Wallets that do one thing wrong when they present, each with the check of the verifier that has to catch it. All of
 * them are the reference wallet with one input or output changed: what goes out is a real, wrong message.
 */
import { fromBase64url, toBase64url } from '../../src/codec/base64url.ts'
import {
  asArray,
  asBytes,
  asEmbeddedBytes,
  asMap,
  CBOR_TAG,
  type CborKey,
  decodeCbor,
  encodeCbor,
  makeTagged,
} from '../../src/codec/cbor.ts'
import { parseJson } from '../../src/codec/json.ts'
import { readSdJwt } from '../../src/codec/sd-jwt.ts'
import { bindSdJwt } from '../../src/credential/sd-jwt.ts'
import { isWithin } from '../../src/protocol/claim-path.ts'
import type { WalletContext } from '../../src/wallet/context.ts'
import { requireHeldFormat } from '../../src/wallet/held-format.ts'
import type { MatchedCredential } from '../../src/wallet/match-credentials.ts'
import { bindingOf, makePresentation, type PresentationPlan } from '../../src/wallet/present.ts'
import { resignJwt, resignMdoc } from './self-made.ts'

type MakePresentation = typeof makePresentation

export interface Misbehaviour {
  readonly id: string
  readonly title: string
  /** The misbehaviour in a sentence. */
  readonly does: string
  /** Names the check that has to fail, for a credential of the format. */
  expectedCheck(format: string): string
  /** Returns why the misbehaviour cannot be shown with this match; undefined when it can. */
  findProblem(match: MatchedCredential, memory: PresentationMemory): string | undefined
  createPresentation(memory: PresentationMemory): MakePresentation
}

/** The latest presentation of each credential, by its id. */
export type PresentationMemory = Map<string, string>

const AN_HOUR_MS = 3_600_000
const SD_JWT = 'only SD-JWT formats can do that'

/** Makes a function that presents honestly, and remembers what it sent. */
export function rememberPresentations(memory: PresentationMemory): MakePresentation {
  return async (wallet, plan, match) => {
    const presentation = await makePresentation(wallet, plan, match)
    memory.set(match.credential.id, presentation)
    return presentation
  }
}

/** The misbehaviours in the order in which they are offered. */
export const misbehaviours: readonly Misbehaviour[] = [
  {
    id: 'nonce',
    title: 'Wrong nonce',
    does: 'The wallet signs a nonce that is not the one of the request.',
    expectedCheck: firstApplicableCheck('holder.nonce', 'holder.signature'),
    findProblem: noProblem,
    createPresentation: () => (wallet, plan, match) =>
      makePresentation(wallet, withRequest(plan, { nonce: toBase64url(wallet.random(24)) }), match),
  },
  {
    id: 'replay',
    title: 'Replayed presentation',
    does: 'The wallet sends once more what it presented before, to another request.',
    expectedCheck: firstApplicableCheck('holder.nonce', 'holder.signature'),
    findProblem: ({ credential }, memory) =>
      memory.has(credential.id)
        ? undefined
        : 'present this credential honestly first, so that there is something to replay',
    createPresentation: (memory) => (_wallet, _plan, match) => Promise.resolve(memory.get(match.credential.id) ?? ''),
  },
  {
    id: 'audience',
    title: 'Wrong audience',
    does: 'The presentation was made for another verifier, who passes it on.',
    expectedCheck: firstApplicableCheck('holder.audience', 'holder.signature'),
    findProblem: noProblem,
    createPresentation: () => (wallet, plan, match) =>
      makePresentation(wallet, withRequest(plan, { audience: `x509_hash:${toBase64url(wallet.random(32))}` }), match),
  },
  {
    id: 'stale',
    title: 'Stale proof',
    does: 'The proof of the holder is an hour old.',
    expectedCheck: firstApplicableCheck('holder.fresh'),
    findProblem: ({ credential }) => notApplicableReason(credential.format, 'holder.fresh'),
    createPresentation: () => (wallet, plan, match) => makePresentation(setClockBack(wallet), plan, match),
  },
  {
    id: 'key',
    title: 'Swapped key',
    does: 'Somebody who copied the credential signs with a key of their own.',
    expectedCheck: firstApplicableCheck('holder.signature'),
    findProblem: noProblem,
    createPresentation: () => async (wallet, plan, match) => {
      const { signer } = await wallet.store.keys.make(match.credential.holder.alg)
      return makePresentation(wallet, plan, { ...match, credential: { ...match.credential, holder: signer } })
    },
  },
  {
    id: 'unbound',
    title: 'No proof of the holder',
    does: 'The wallet leaves out the signature by the key of the credential.',
    expectedCheck: firstApplicableCheck('holder.binding'),
    findProblem: ({ credential }) => (isSdJwt(credential.format) ? undefined : SD_JWT),
    createPresentation: () => async (wallet, plan, match) =>
      readSdJwt(await makePresentation(wallet, plan, match)).sdHashInput,
  },
  {
    id: 'disclosure',
    title: 'Changed claim',
    does: 'The wallet changes the value of a claim that it discloses, and signs that.',
    expectedCheck: firstApplicableCheck('disclosures.valid'),
    findProblem: (match) =>
      notApplicableReason(match.credential.format, 'disclosures.valid') ?? disclosableProblem(match),
    createPresentation: () => (wallet, plan, match) =>
      isSdJwt(match.credential.format)
        ? withChangedDisclosure(wallet, plan, match)
        : makePresentation(wallet, plan, removeClaims(changeElements(match))),
  },
  {
    id: 'missing',
    title: 'Missing claim',
    does: 'The wallet leaves out a claim that the verifier asked for.',
    expectedCheck: firstApplicableCheck('query.claims'),
    findProblem: disclosableProblem,
    createPresentation: () => (wallet, plan, match) =>
      makePresentation(wallet, plan, removeClaims(withoutOneClaim(match))),
  },
  {
    id: 'forged',
    title: 'Forged signature',
    does: 'The credential has another signature than that of its issuer.',
    expectedCheck: firstApplicableCheck('issuer.signature'),
    findProblem: noProblem,
    createPresentation: () => (wallet, plan, match) => makePresentation(wallet, plan, withForgedSignature(match)),
  },
  {
    id: 'issuer',
    title: 'Self-made issuer',
    does: 'Somebody signed the credential with a key and a certificate of their own, in the name of its issuer.',
    expectedCheck: firstApplicableCheck('issuer.trusted'),
    findProblem: noProblem,
    createPresentation: () => async (wallet, plan, match) => {
      const { signer } = await wallet.store.keys.make('ES256')
      const { format, credential } = match.credential
      const resign = isMdoc(format) ? resignMdoc : resignJwt
      return makePresentation(wallet, plan, withCredential(match, await resign(credential, signer)))
    },
  },
]

/** Makes a function that finds the first check of `ids` that is asked of credentials of a format. */
function firstApplicableCheck(...ids: readonly [string, ...string[]]): (format: string) => string {
  return (format) => ids.find((id) => notApplicableReason(format, id) === undefined) ?? ids[0]
}

function notApplicableReason(format: string, id: string): string | undefined {
  return requireHeldFormat(format).notApplicableReasons[id]
}

function noProblem(): undefined {
  return undefined
}

function isSdJwt(format: string): boolean {
  return notApplicableReason(format, 'holder.sd_hash') === undefined
}

function isMdoc(format: string): boolean {
  return notApplicableReason(format, 'credential.doc_type') === undefined
}

export function withRequest(plan: PresentationPlan, changes: Partial<PresentationPlan['request']>): PresentationPlan {
  return { ...plan, request: { ...plan.request, ...changes } }
}

function setClockBack(wallet: WalletContext): WalletContext {
  return { ...wallet, now: () => new Date(wallet.now().getTime() - AN_HOUR_MS) }
}

/** Removes the claims from the query that is answered, so that the wallet does not notice that some are missing. */
function removeClaims(match: MatchedCredential): MatchedCredential {
  const { id, format, meta } = match.query
  return { ...match, query: { id, format, meta } }
}

/** Finds a claim that was asked for and could stay hidden; undefined when there is none. */
function findDisclosableClaim({ disclosed, credential }: MatchedCredential) {
  const positions = disclosed.filter(({ because }) => because === 'asked').map(({ position }) => position)
  return positions.find((position) => credential.disclosable.some((cover) => isWithin(position, cover)))
}

function disclosableProblem(match: MatchedCredential): string | undefined {
  return findDisclosableClaim(match) === undefined ? 'no claim is asked for that could stay hidden' : undefined
}

function withoutOneClaim(match: MatchedCredential): MatchedCredential {
  const omittedClaim = findDisclosableClaim(match) ?? []
  return {
    ...match,
    positions: match.positions.filter((each) => !isWithin(each, omittedClaim) && !isWithin(omittedClaim, each)),
  }
}

async function withChangedDisclosure(
  wallet: WalletContext,
  plan: PresentationPlan,
  match: MatchedCredential,
): Promise<string> {
  const { sdHashInput } = readSdJwt(await makePresentation(wallet, plan, match))
  const [jwt = '', ...disclosures] = sdHashInput.slice(0, -1).split('~')
  const [disclosure = '', ...others] = disclosures.reverse()
  const parts = parseJson(fromBase64url(disclosure)) as readonly unknown[]
  const forgedDisclosure = toBase64url(JSON.stringify([...parts.slice(0, -1), 'changed by the wallet']))
  return bindSdJwt(
    [jwt, ...others, forgedDisclosure, ''].join('~'),
    bindingOf(wallet, plan, match),
    match.credential.holder,
  )
}

/** Changes every element of an mdoc, each of which has a digest. ISO/IEC 18013-5 section 9.1.2.5. */
function changeElements(match: MatchedCredential): MatchedCredential {
  const issuerSigned = asMap(decodeCbor(fromBase64url(match.credential.credential)), 'the credential')
  const nameSpaces = [...asMap(issuerSigned.get('nameSpaces'), 'nameSpaces')].map(([name, items]) => {
    const changedItems = asArray(items, 'a namespace').map((item) => {
      const element = asMap(decodeCbor(asEmbeddedBytes(item, 'an element')), 'an element')
      const forgedElement = new Map<CborKey, unknown>([...element, ['elementValue', 'changed by the wallet']])
      return makeTagged(CBOR_TAG.encoded, encodeCbor(forgedElement as typeof element))
    })
    return [name, changedItems] as const
  })
  return withCredential(match, toBase64url(encodeCbor(new Map([...issuerSigned, ['nameSpaces', new Map(nameSpaces)]]))))
}

function withForgedSignature(match: MatchedCredential): MatchedCredential {
  const { format, credential } = match.credential
  if (isMdoc(format)) return withForgedIssuerAuth(match)
  const [jwt = '', ...rest] = credential.split('~')
  const [header = '', payload = '', signature = ''] = jwt.split('.')
  const bytes = Uint8Array.from(fromBase64url(signature), (byte, at) => (at === 0 ? byte ^ 1 : byte))
  return withCredential(match, [[header, payload, toBase64url(bytes)].join('.'), ...rest].join('~'))
}

function withForgedIssuerAuth(match: MatchedCredential): MatchedCredential {
  const issuerSigned = asMap(decodeCbor(fromBase64url(match.credential.credential)), 'the credential')
  const sign1 = [...asArray(issuerSigned.get('issuerAuth'), 'issuerAuth')]
  const signature = asBytes(sign1.pop(), 'the signature')
  const bytes = Uint8Array.from(signature, (byte, at) => (at === 0 ? byte ^ 1 : byte))
  return withCredential(match, toBase64url(encodeCbor(new Map([...issuerSigned, ['issuerAuth', [...sign1, bytes]]]))))
}

function withCredential(match: MatchedCredential, credential: string): MatchedCredential {
  return { ...match, credential: { ...match.credential, credential } }
}
