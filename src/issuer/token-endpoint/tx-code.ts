/**
 * Transaction codes, which the user enters and receives by another channel than the offer. Only a MAC is stored, since
 * a short code could be guessed from a digest. `session.ts` counts wrong attempts. OpenID4VCI 1.0, Credential Offer
 * Parameters and Token Request.
 */
import type { KeyObject } from 'node:crypto'
import { hasControlCharacters, removeDirectionMarks } from '../../codec/control-characters.ts'
import { isSameSecret } from '../../codec/digest.ts'
import { macOfText } from '../../codec/mac-token.ts'
import { refuse } from '../../protocol/error.ts'
import { decryptValue, encryptValue } from '../access/encrypted-value.ts'
import type { IssuerContext } from '../context.ts'
import type { NewIssuanceSession } from '../schemas.ts'
import type { TxCode } from '../session.ts'

export interface NewTxCode {
  readonly record: TxCode
  /** The code, if it was generated. */
  readonly generatedValue: string | undefined
}

/** The characters of generated codes, without those that look alike. */
const ALPHABETS = { numeric: '0123456789', text: '23456789ABCDEFGHJKLMNPQRSTUVWXYZ' } as const
/** The minimum length. The schema has the same for the value before normalization. */
const SHORTEST = 4
const LENGTHS = { numeric: 6, text: 8 } as const
const FITTING = { numeric: /^[0-9]+$/, text: /^[^\s\p{C}]+$/u } as const
const FITTING_TEXT = { numeric: 'digits', text: 'visible characters without spaces' } as const

/**
 * Makes the transaction code of a new session: the given value, or a random one. Refuses with `invalid_request` a value
 * that does not match its `input_mode` or length, and a description with control characters.
 */
export function makeTxCode(
  context: IssuerContext,
  sessionId: string,
  request: NonNullable<NewIssuanceSession['tx_code']>,
): NewTxCode {
  const { input_mode: mode = 'numeric', description } = request
  if (description !== undefined && hasControlCharacters(removeDirectionMarks(description))) {
    refuse('invalid_request', 'tx_code.description: write it in one line; it has a line break or a control character')
  }
  if (context.externalAuthorizationServer !== undefined) return makeExternalCode(request)
  // Normalizes to composed characters, so that the length is the number of characters that the user types.
  const suppliedValue = request.value?.normalize('NFC')
  if (suppliedValue !== undefined && !FITTING[mode].test(suppliedValue)) {
    refuse('invalid_request', `tx_code.value: with input_mode ${mode} it must be ${FITTING_TEXT[mode]}`)
  }
  if (suppliedValue !== undefined && lengthOf(suppliedValue) < SHORTEST) {
    refuse('invalid_request', `tx_code.value: it must have ${SHORTEST} characters or more`)
  }
  const length = request.length ?? (suppliedValue === undefined ? LENGTHS[mode] : lengthOf(suppliedValue))
  if (suppliedValue !== undefined && lengthOf(suppliedValue) !== length) {
    refuse('invalid_request', `tx_code.length: the value is ${lengthOf(suppliedValue)} characters long`)
  }
  const value = suppliedValue ?? makeRandomText(context.random, ALPHABETS[mode], length)
  const offeredDescription = { input_mode: mode, length, ...(description === undefined ? {} : { description }) }
  const record = { mac: macOf(context.secrets.txCode[0], sessionId, value), asked: offeredDescription, wrong: 0 }
  return { record, generatedValue: suppliedValue === undefined ? value : undefined }
}

/** Encrypts a generated code for the stored answer of an idempotent request. */
export function encryptTxCode(context: IssuerContext, sessionId: string, value: string): string {
  return encryptValue({ secrets: context.secrets.rememberedTxCode, boundTo: sessionId }, value, context)
}

/** Decrypts a stored code. Returns undefined if its secret was removed; the code is then useless. */
export function decryptTxCode(
  { secrets }: IssuerContext,
  sessionId: string,
  encryptedValue: string,
): string | undefined {
  return decryptValue({ secrets: secrets.rememberedTxCode, boundTo: sessionId }, encryptedValue)
}

/** Makes the record of a transaction code that an external authorization server checks. The offer only describes it. */
function makeExternalCode({
  value,
  input_mode: mode = 'numeric',
  ...rest
}: NonNullable<NewIssuanceSession['tx_code']>): NewTxCode {
  if (value !== undefined) {
    refuse('invalid_request', 'tx_code.value: tell the authorization server, which compares it, and leave it out here')
  }
  return { record: { asked: { input_mode: mode, ...rest }, wrong: 0 }, generatedValue: undefined }
}

/**
 * Tests whether the transaction code of a request is right. Refuses with `invalid_request` a missing code, which does
 * not count as an attempt, and a code that the offer does not have. OpenID4VCI 1.0, Token Error Response.
 */
export function isRightTxCode(
  { secrets }: Pick<IssuerContext, 'secrets'>,
  sessionId: string,
  txCode: TxCode | undefined,
  sentCode: string | undefined,
): boolean {
  // RFC 6749 section 3.2: a parameter without a value counts as absent.
  if (txCode === undefined) {
    return sentCode ? refuse('invalid_request', 'tx_code: this offer asks for no transaction code') : true
  }
  if (!sentCode) return refuse('invalid_request', 'tx_code is missing: this offer asks for a transaction code')
  const { mac: wantedMac } = txCode
  if (wantedMac === undefined) return false
  return secrets.txCode.some((secret) => isSameSecret(macOf(secret, sessionId, sentCode), wantedMac))
}

/**
 * Computes the MAC of the normalized code and the session id, so that equal codes of two sessions have different MACs.
 */
function macOf(secret: KeyObject, sessionId: string, value: string): string {
  return macOfText(secret, `${sessionId}.${value.normalize('NFC')}`)
}

function lengthOf(value: string): number {
  return Array.from(value).length
}

/** Makes a random text of `length` characters of `alphabet`, uniformly distributed. */
function makeRandomText(random: (bytes: number) => Uint8Array, alphabet: string, length: number): string {
  const limit = 256 - (256 % alphabet.length)
  const characters: string[] = []
  while (characters.length < length) {
    const usable = [...random(2 * length)].filter((byte) => byte < limit)
    characters.push(...usable.map((byte) => alphabet.charAt(byte % alphabet.length)))
  }
  return characters.slice(0, length).join('')
}
