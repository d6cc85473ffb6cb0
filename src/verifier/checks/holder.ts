/**
 * Checks that the holder made this presentation for this verifier and this session. OpenID4VP 1.0, Preventing Replay;
 * RFC 9901, Key Binding.
 */
import { type Check, fail, notRun, pass } from '../../check/check.ts'
import { epochSeconds } from '../../codec/time.ts'
import { untrustedText } from '../../codec/untrusted-text.ts'
import { findTimeProblem } from '../../credential/evidence.ts'
import type { Evidence } from '../../credential/format.ts'
import type { PresentationCheckContext } from './context.ts'

const NEEDS = ['holder.binding']

function findUnboundReason({ credentialQuery }: PresentationCheckContext): string | undefined {
  return credentialQuery.require_cryptographic_holder_binding === false
    ? 'the query does not require holder binding'
    : undefined
}

export const holderChecks: readonly Check<Evidence, PresentationCheckContext>[] = [
  {
    id: 'holder.binding',
    asks: 'Is the credential bound to a key, and is there a proof by a holder?',
    spec: 'RFC 9901, Verification by the Verifier; RFC 7800 section 3.2; ISO/IEC 18013-5 section 9.1.3',
    level: 'MUST',
    notApplicableReason: findUnboundReason,
    run({ holder, boundKey }) {
      if ('problem' in boundKey) return fail(boundKey.problem, boundKey.cause)
      if (holder === undefined) return fail('the presentation has no proof of the holder')
      return holder.problem === undefined ? pass() : fail(holder.problem)
    },
  },
  {
    id: 'holder.signature',
    asks: 'Did the key that the issuer bound sign this presentation?',
    spec: 'RFC 9901, Verification by the Verifier; ISO/IEC 18013-5 section 9.1.3',
    level: 'MUST',
    needs: NEEDS,
    notApplicableReason: findUnboundReason,
    run({ holder, boundKey }, { binding }) {
      if (holder === undefined || 'problem' in boundKey) return notRun('there is no proof of the holder')
      const { nonce = '', audience = '' } = binding
      const problem = holder.signatureProblem(boundKey.jwk, { ...binding, nonce, audience })
      return problem === undefined ? pass() : fail(`the signature of the holder is not by the bound key: ${problem}`)
    },
  },
  {
    id: 'holder.nonce',
    asks: 'Was the presentation made for this session?',
    spec: 'OpenID4VP 1.0, Preventing Replay',
    level: 'MUST',
    needs: NEEDS,
    // The device signature of an mdoc covers the nonce instead (mso-mdoc/device-auth.ts): holder.signature.
    notApplicableReason: (context) =>
      context.binding.nonce === undefined ? 'no nonce was given to compare' : findUnboundReason(context),
    run: ({ holder }, { binding }) =>
      holder?.nonce === binding.nonce ? pass() : fail("the nonce of the holder's proof is not the one of the request"),
  },
  {
    id: 'holder.audience',
    asks: 'Was the presentation made for us?',
    spec: 'OpenID4VP 1.0, Preventing Replay (aud is the client identifier); appendix A, Response (aud is the origin)',
    level: 'MUST',
    needs: NEEDS,
    notApplicableReason: (context) =>
      context.binding.audience === undefined ? 'no audience was given to compare' : findUnboundReason(context),
    run: ({ holder }, { binding }) => {
      if (holder?.audience === binding.audience) return pass()
      const stated = holder?.audience === undefined ? 'not a text' : untrustedText(holder.audience)
      return fail(`the audience of the holder's proof is ${stated}, and not ${String(binding.audience)}`)
    },
  },
  {
    id: 'holder.fresh',
    asks: 'Was the presentation made since the session began?',
    spec: 'RFC 9901, Verification by the Verifier (iat of the key binding)',
    level: 'MUST',
    needs: NEEDS,
    notApplicableReason: findUnboundReason,
    run({ holder }, { sessionStart, now, clockSkewSeconds }) {
      const at = holder?.presentedAt?.getTime()
      if (Number.isNaN(at)) return fail("the holder's proof does not say when it was made (iat)")
      const skew = clockSkewSeconds * 1000
      // `iat` has whole seconds, so the session start is rounded down.
      if (at !== undefined && sessionStart && at < epochSeconds(sessionStart) * 1000 - skew)
        return fail("the holder's proof is older than the session")
      if (at !== undefined && at > now.getTime() + skew)
        return fail("the holder's proof is from the future; check the clocks")
      if (holder === undefined || findTimeProblem(holder.validity, now, clockSkewSeconds) !== undefined)
        return fail("the holder's proof is not valid now, by its own exp or nbf")
      if (at === undefined)
        return pass('the proof has no iat, which this format does not require; its nonce is accepted once')
      return pass(sessionStart ? undefined : "without a session only the proof's own times were checked")
    },
  },
  {
    id: 'holder.sd_hash',
    asks: 'Was the key binding made for exactly these disclosures?',
    spec: 'RFC 9901, Verification by the Verifier (sd_hash)',
    level: 'MUST',
    needs: NEEDS,
    notApplicableReason: findUnboundReason,
    run: ({ holder }) =>
      holder?.coversPresentation ? pass() : fail('sd_hash of the key binding is not the hash of the presentation'),
  },
  {
    id: 'holder.transaction_data',
    asks: 'Did the holder approve the transactions of this credential, and none that is not in the request?',
    spec: 'OpenID4VP 1.0, Transaction Data',
    level: 'MUST',
    needs: NEEDS,
    notApplicableReason: ({ binding, format }) =>
      binding.transactionData.length === 0 ? 'no transaction was to be approved with it' : format.transactionProblem,
    run({ holder }, { binding, transactions }) {
      if (holder === undefined) return notRun('there is no proof of the holder')
      const requested = transactions.map(({ text }) => text)
      const problem = holder.approvalProblem(binding.transactionData, requested)
      if (problem === undefined) return pass()
      return fail(`the holder's proof does not approve the transactions of this credential: ${problem}`)
    },
  },
]
