/** Attacks on transactions: those that the holder did not approve, or not so, or approved besides. */
import { createHash } from 'node:crypto'
import type { Json, JsonObject } from '../../src/codec/json.ts'
import type { Forgery } from '../support/forge.ts'
import { type Attack, after } from './attack.ts'

const payment = { type: 'urn:example:payment', credential_ids: ['card'], amount: '12.00', payee: 'Example Shop' }
const other = { ...payment, amount: '12000.00' }
const strong = { ...payment, transaction_data_hashes_alg: ['sha-512', 'sha-384'] }
const withAlgorithm = { ...payment, transaction_data_hashes_alg: ['sha-256'] }
const unapproved = { fails: 'holder.transaction_data', transactions: [payment] }

/** Changes the transactions in the key binding, which the holder's key signs again. */
function approval(change: (payload: JsonObject & { transaction_data_hashes: Json[] }) => void): Pick<Attack, 'change'> {
  return {
    change({ binding }: Forgery) {
      change(binding?.payload as JsonObject & { transaction_data_hashes: Json[] })
    },
  }
}

const hashOf = (content: object, name = 'sha256') =>
  createHash(name)
    .update(Buffer.from(JSON.stringify(content)).toString('base64url'))
    .digest('base64url')

export const transactionAttacks: readonly Attack[] = [
  {
    attack: 'The holder presents, and does not approve the transaction.',
    ...unapproved,
    ...approval((payload) => void Reflect.deleteProperty(payload, 'transaction_data_hashes')),
  },
  {
    attack: 'The holder approves nothing, in an empty list.',
    ...unapproved,
    ...approval((payload) => void payload.transaction_data_hashes.pop()),
  },
  {
    attack: 'The holder approved another amount.',
    ...unapproved,
    ...approval((payload) => void payload.transaction_data_hashes.splice(0, 1, hashOf(other))),
  },
  {
    attack: 'The holder approved another transaction besides.',
    ...unapproved,
    ...approval((payload) => void payload.transaction_data_hashes.push(hashOf(other))),
  },
  {
    attack: 'The holder approved one of two transactions.',
    ...unapproved,
    transactions: [payment, other],
    ...approval((payload) => void payload.transaction_data_hashes.pop()),
  },
  {
    attack: 'The holder approved two transactions the other way about.',
    ...unapproved,
    transactions: [payment, other],
    ...approval((payload) => void payload.transaction_data_hashes.reverse()),
  },
  {
    attack: 'The hash of the transaction is over what the text decodes to.',
    ...unapproved,
    ...approval((payload) => {
      payload.transaction_data_hashes = [createHash('sha256').update(JSON.stringify(payment)).digest('base64url')]
    }),
  },
  {
    attack: 'The hash of the transaction is by an algorithm that nobody asked for.',
    ...unapproved,
    ...approval((payload) => {
      payload.transaction_data_hashes = [hashOf(payment, 'sha512')]
      payload.transaction_data_hashes_alg = 'sha-512'
    }),
  },
  {
    attack: 'The hash of the transaction is by SHA-256, where a stronger one was asked for.',
    ...unapproved,
    transactions: [strong],
    ...approval((payload) => {
      payload.transaction_data_hashes = [hashOf(strong)]
      payload.transaction_data_hashes_alg = 'sha-256'
    }),
  },
  {
    attack: 'The hash of the transaction does not say by which algorithm it is, where that was asked for.',
    ...unapproved,
    transactions: [withAlgorithm],
    ...approval((payload) => void Reflect.deleteProperty(payload, 'transaction_data_hashes_alg')),
  },
  {
    attack: 'The algorithm of the hash of the transaction is null, where it was asked for.',
    ...unapproved,
    transactions: [withAlgorithm],
    ...approval((payload) => {
      payload.transaction_data_hashes_alg = null
    }),
  },
  {
    attack: 'The hash of the transaction is by MD5.',
    ...unapproved,
    ...approval((payload) => {
      payload.transaction_data_hashes = [hashOf(payment, 'md5')]
      payload.transaction_data_hashes_alg = 'md5'
    }),
  },
  {
    attack: 'The approval is a text where a list is wanted.',
    ...unapproved,
    ...approval((payload) => {
      Object.assign(payload, { transaction_data_hashes: hashOf(payment) })
    }),
  },
  {
    attack: 'The presentation that was to approve the transaction has no key binding.',
    fails: 'holder.binding',
    notRun: after.binding,
    transactions: [payment],
    change(forgery) {
      forgery.binding = undefined
    },
  },
  {
    attack: 'The wallet leaves out an optional credential that was to approve the transaction.',
    fails: 'query.complete',
    transactions: [payment, { ...payment, credential_ids: ['second'] }],
    dcql: ({ format }) => ({
      credentials: ['card', 'second'].map((id) => ({ id, format, meta: {} })),
      credential_sets: [{ options: [['card']] }, { options: [['second']], required: false }],
    }),
    // The first credential approves its own transaction.
    ...approval((payload) => void payload.transaction_data_hashes.pop()),
  },
]
