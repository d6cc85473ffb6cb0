import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { toBase64url } from '../codec/base64url.ts'
import type { JsonObject } from '../codec/json.ts'
import { MalformedError } from '../codec/malformed.ts'
import { approvalProblem, findCommonHashes, makeApproval, parseTransactionContent } from './transaction-data.ts'

const transaction = (members: object = {}) =>
  toBase64url(JSON.stringify({ type: 'payment', credential_ids: ['card'], amount: '12.00', ...members }))
const one = transaction()
const other = transaction({ amount: '13.00' })
const hashOf = (text: string, name = 'sha256') => createHash(name).update(text).digest('base64url')

const MISSING = /^it has no list of transaction_data_hashes$/
const OTHERS = /^transaction_data_hashes are not those of its transactions in the request/
const notOffered = (name: string) =>
  new RegExp(`^the request does not offer its transaction_data_hashes_alg \\(${name}\\)$`)

describe('the approval of transactions', () => {
  it('is the hash of each text as it was sent, not of what it decodes to', () => {
    expect(makeApproval([one, other])).toEqual({ transaction_data_hashes: [hashOf(one), hashOf(other)] })
    expect(makeApproval([])).toEqual({})
  })

  it('names its hash where the request did, and uses one that every transaction allows', () => {
    const strong = transaction({ transaction_data_hashes_alg: ['sha-512', 'sha-384', 'sha3-512'] })
    expect(makeApproval([strong])).toEqual({
      transaction_data_hashes: [hashOf(strong, 'sha384')],
      transaction_data_hashes_alg: 'sha-384',
    })
    const usual = transaction({ transaction_data_hashes_alg: ['sha-512', 'sha-256'] })
    expect(makeApproval([one, usual])).toEqual({
      transaction_data_hashes: [hashOf(one), hashOf(usual)],
      transaction_data_hashes_alg: 'sha-256',
    })
    const strongest = transaction({ transaction_data_hashes_alg: ['sha-512'] })
    expect(makeApproval([strongest]).transaction_data_hashes).toEqual([hashOf(strongest, 'sha512')])
    expect(findCommonHashes([usual])).toEqual(['sha-256', 'sha-512'])
    expect(findCommonHashes([strong, usual])).toEqual(['sha-512'])
    expect(() => makeApproval([one, strong])).toThrow(MalformedError)
    const approval = { transaction_data_hashes: [hashOf(one), hashOf(strong)] }
    expect(approvalProblem(approval, [one, strong], [one, strong])).toBe('it has no transaction_data_hashes_alg')
  })

  it.each([[[]], [[one]], [[one, other]], [[transaction({ transaction_data_hashes_alg: ['sha-256'] })]]])(
    'is what it is taken for: %#',
    (texts) => {
      expect(approvalProblem(makeApproval(texts), texts, texts)).toBe(undefined)
    },
  )

  const another = transaction({ credential_ids: ['ticket'] })

  it.each<[string, readonly string[]]>([
    ['every transaction of the request', [one, another, other]],
    ['some of the others', [one, other]],
    ['its own alone', [one]],
  ])('may be of other transactions of the request too: %s', (_, approved) => {
    expect(approvalProblem(makeApproval(approved), [one], [one, another, other])).toBe(undefined)
  })

  it.each<[string, readonly string[]]>([
    ['in another order than in the request', [other, one]],
    ['twice', [one, other, other]],
    ['of one that is not in the request', [one, transaction({ amount: '14.00' })]],
    ['without its own', [another, other]],
  ])('is none when it is of others %s', (_, approved) => {
    expect(approvalProblem(makeApproval(approved), [one], [one, another, other])).toMatch(OTHERS)
  })

  const named = transaction({ transaction_data_hashes_alg: ['sha-256'] })
  const wrong: readonly (readonly [string, JsonObject, readonly string[], RegExp])[] = [
    ['missing', {}, [one], MISSING],
    ['empty', { transaction_data_hashes: [] }, [one], OTHERS],
    ['of another transaction', makeApproval([other]), [one], OTHERS],
    ['of one of two', makeApproval([one]), [one, other], OTHERS],
    ['of one more', makeApproval([one, other]), [one], OTHERS],
    ['of one twice', makeApproval([one, one]), [one], OTHERS],
    ['in another order', makeApproval([other, one]), [one, other], OTHERS],
    ['of something where nothing was asked', makeApproval([one]), [], /^no transaction was to be approved$/],
    ['a text and no array', { transaction_data_hashes: hashOf(one) }, [one], MISSING],
    [
      'of what the text decodes to',
      { transaction_data_hashes: [hashOf(Buffer.from(one, 'base64url').toString())] },
      [one],
      OTHERS,
    ],
    ['padded', { transaction_data_hashes: [`${hashOf(one)}=`] }, [one], OTHERS],
    [
      'by a hash that was not asked for',
      { transaction_data_hashes: [hashOf(one, 'sha512')], transaction_data_hashes_alg: 'sha-512' },
      [one],
      notOffered('sha-512'),
    ],
    [
      'by a hash that says it is another',
      { ...makeApproval([one]), transaction_data_hashes_alg: 'sha-512' },
      [one],
      notOffered('sha-512'),
    ],
    [
      'by a hash without its name',
      { transaction_data_hashes: [hashOf(named)] },
      [named],
      /^it has no transaction_data_hashes_alg$/,
    ],
    [
      'by a hash with two names',
      { ...makeApproval([named]), transaction_data_hashes_alg: ['sha-256'] },
      [named],
      notOffered('not a text'),
    ],
    [
      'by a hash of the language',
      { ...makeApproval([one]), transaction_data_hashes_alg: 'constructor' },
      [one],
      notOffered('constructor'),
    ],
  ]

  it.each(wrong)('is none when it is %s', (_, payload, texts, reason) => {
    expect(approvalProblem(payload, texts, texts)).toMatch(reason)
  })

  it.each([['AAAA'], [toBase64url('[]')], ['+'], [transaction({ transaction_data_hashes_alg: 'sha-256' })]])(
    'is not asked for what cannot be read: %s',
    (text) => {
      expect(() => makeApproval([text])).toThrow(MalformedError)
    },
  )
})

describe('a transaction', () => {
  const content = { type: 'payment', credential_ids: ['card'] }

  it('says its type and who approves it', () => {
    expect(parseTransactionContent(content)).toEqual({ type: 'payment', credentialIds: ['card'] })
  })

  it.each([['sha-256'], [[]], [[256]], [['sha-256', 256]], [null], [{}]])(
    'is refused when its hashes are %j',
    (hashes) => {
      expect(() => parseTransactionContent({ ...content, transaction_data_hashes_alg: hashes })).toThrow(
        /^transaction_data_hashes_alg: /,
      )
    },
  )
})
