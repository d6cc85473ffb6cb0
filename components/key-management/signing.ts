/**
 * Signing over HTTP, with the client as the coordinator of FROST (RFC 9591, two-round-frost-signing-protocol): `POST
 * /keys/{id}/commitments` gives commitments to nonces, which this engine keeps; `POST /keys/{id}/signature-shares`
 * with a message and the commitments of all who are to sign gives this engine's share, if the policy in the contract
 * allows it, and ends the nonces. Nobody signs twice with them: they are deleted in the commit that lets the share
 * out.
 */
import type { NonceCommitments } from '@noble/curves/abstract/frost.js'
import { ed25519_FROST as frost } from '@noble/curves/ed25519.js'
import type { Context, Request, Response } from 'vouchsafe/component'
import { equal, fromHex, toHex } from '../bytes.ts'
import * as contract from './contract.ts'
import { addNonces, countShare, takeNonces } from './nonces.ts'
import { groupKey, type KeyShare, loadKeyShares } from './stored.ts'

/** The most bytes of a message. Longer ones are signed by their digest. */
const LONGEST_MESSAGE = 16_384
/** The most characters of the commitments of an engine, however JSON sets them out. */
const LONGEST_COMMITMENTS = 512
/** The most brackets that a body opens, more than any message with commitments has. */
const MOST_BRACKETS = 1000

interface Asked {
  readonly registration: Uint8Array
  readonly caller: string
  readonly policy: contract.Policy
  readonly share: KeyShare
}

/** Answers a request in JSON; a refusal is an object with `error`. */
export function http(request: Request, context: Context): Response {
  const [, text = '', what] = /^\/keys\/([^/?]+)\/(commitments|signature-shares)$/.exec(request.uri) ?? []
  if (what === undefined) return refuse(404, 'Invalid URL')
  if (request.method !== 'POST') return refuse(405, 'Invalid method')
  if (!/^(0|[1-9][0-9]{0,38})$/.test(text) || BigInt(text) >= 1n << 128n) return refuse(400, 'Malformed request')
  const admission = admitted(BigInt(text), request, context)
  if ('status' in admission) return admission
  return what === 'commitments' ? commitments(admission, context) : signatureShare(admission, request, context)
}

/** Admits a caller whom the policy of the contract allows at this block, or returns the refusal. */
function admitted(id: bigint, request: Request, context: Context): Asked | Response {
  const { status, registration, publicKey } = contract.keyOf(id, context)
  if (status === 'unknown') return refuse(404, 'Unknown key')
  const policy = contract.policyOf(id, context)
  const caller = policy.signers.length > 0 ? context.authenticate(policy.signers) : undefined
  if (caller === undefined) return refuse(401, 'Unauthorized')
  // The older profile lets a request that was caught on its way be sent again, which would push the caller's nonces
  // out.
  if (request.header('authorization')?.startsWith('offchain-v2 ') !== true) {
    return refuse(401, 'Unauthorized: sign by the profile offchain-v2')
  }
  if (status !== 'active') return refuse(409, `The key cannot sign: ${status}`)
  const now = Math.max(context.now().getTime(), context.block.time.getTime())
  if (policy.notAfter > 0 && now > policy.notAfter) return refuse(403, 'The policy of the key has ended')
  // By its registration and its public key: a share that was made on a fork of the chain that is gone signs for nobody.
  const share = loadKeyShares(registration, context).find((one) => equal(groupKey(one), publicKey))
  return share ? { registration, caller, policy, share } : refuse(503, 'This engine has no share of the key')
}

function commitments({ registration, caller, share }: Asked, context: Context): Response {
  const rng = (length = 32): Uint8Array<ArrayBuffer> => new Uint8Array(context.random(length))
  const nonces = frost.commit(share.secret, rng)
  const expires = addNonces(registration, caller, nonces, context)
  const { identifier, hiding, binding } = nonces.commitments
  return json(200, {
    identifier,
    hiding: toHex(hiding),
    binding: toHex(binding),
    expires: new Date(expires).toISOString(),
  })
}

function signatureShare({ registration, caller, policy, share }: Asked, request: Request, context: Context): Response {
  const parsed = parse(request, share)
  if (parsed === undefined) return refuse(400, 'Malformed request')
  if (!equal(parsed.message.subarray(0, policy.prefix.length), policy.prefix)) {
    return refuse(403, 'The policy of the key does not allow this message')
  }
  const nonces = takeNonces(registration, caller, parsed.own, context)
  if (nonces === undefined) return refuse(409, 'Unknown, used or expired commitments')
  if (!countShare(registration, policy.sharesPerDay, context))
    return refuse(429, 'The key has signed as often as it may today')
  try {
    const signed = frost.signShare(share.secret, share.public, nonces, [...parsed.commitments], parsed.message)
    return json(200, { identifier: share.secret.identifier, share: toHex(signed) })
  } catch {
    // The commitments of others are no points of the curve. The nonces are gone all the same.
    return refuse(400, 'Malformed request')
  }
}

interface Parsed {
  readonly message: Uint8Array<ArrayBuffer>
  readonly commitments: readonly NonceCommitments[]
  readonly own: NonceCommitments
}

/**
 * Reads a message and the commitments of enough different engines, of which this is one; undefined for anything else.
 */
function parse(request: Request, { secret, public: { signers, verifyingShares } }: KeyShare): Parsed | undefined {
  if (request.body.length > 2 * LONGEST_MESSAGE + signers.max * LONGEST_COMMITMENTS) return undefined
  try {
    // JSON that is nested too deeply ends the call, and so is not parsed.
    if (request.text().split(/[[{]/).length > MOST_BRACKETS) return undefined
    const { message, commitments } = request.json() as Record<string, unknown>
    if (typeof message !== 'string' || message.length > 2 * LONGEST_MESSAGE || !Array.isArray(commitments))
      return undefined
    if (commitments.length < signers.min || commitments.length > signers.max) return undefined
    const parsed = commitments.map(parseCommitments)
    const identifiers = new Set(parsed.map(({ identifier }) => identifier))
    if (identifiers.size !== parsed.length) return undefined
    if (![...identifiers].every((identifier) => Object.hasOwn(verifyingShares, identifier))) return undefined
    const own = parsed.find(({ identifier }) => identifier === secret.identifier)
    return own && { message: new Uint8Array(fromHex(message)), commitments: parsed, own }
  } catch {
    return undefined
  }
}

function parseCommitments(value: unknown): NonceCommitments {
  const { identifier, hiding, binding } = value as Record<string, unknown>
  return { identifier: toHex(point(identifier)), hiding: point(hiding), binding: point(binding) }
}

function point(value: unknown): Uint8Array<ArrayBuffer> {
  if (typeof value !== 'string' || value.length !== 64) throw new Error('that is not 32 bytes in hexadecimal')
  return new Uint8Array(fromHex(value))
}

function refuse(status: number, error: string): Response {
  return json(status, { error })
}

function json(status: number, value: unknown): Response {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) }
}
