import { createPublicKey, randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { beforeEach, expect, it } from 'vitest'
import { makeKey } from '../../../test/support/services.ts'
import { type Certificate, parseCertificate } from '../../keys/certificate.ts'
import { createSigner } from '../../keys/file-signer.ts'
import type { SigningKey } from '../../keys/key-ring.ts'
import { makeSelfSignedCertificate } from '../../keys/make-certificate.ts'
import { Pkcs11Error } from '../../keys/pkcs11/error.ts'
import type { Pkcs11Tokens } from '../../keys/pkcs11/signer.ts'
import { watchPkcs11Keys } from './pkcs11-key-task.ts'

const MINUTE_MS = 60_000

type Answer = 'signs' | 'is away' | 'is broken'
let [answer, tries, clock]: [Answer, number, number] = ['signs', 0, 0]
const lines: Record<string, unknown>[] = []
const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) })
let chain: readonly [Certificate]
let tokens: Pkcs11Tokens
let fileKey: SigningKey

beforeEach(async () => {
  answer = 'signs'
  ;[tries, clock] = [0, 0]
  lines.length = 0
  const key = await makeKey()
  const times = { notBefore: new Date(Date.now() - MINUTE_MS), notAfter: new Date(Date.now() + MINUTE_MS) }
  const names = { commonName: 'Uni', serial: randomBytes(16) }
  const made = makeSelfSignedCertificate({ privateKey: key, publicKey: createPublicKey(key), ...names, ...times })
  chain = [parseCertificate(made)]
  fileKey = { key, chain }
  const signer = createSigner(key, chain)
  tokens = {
    createSigner: () => ({
      ...signer,
      sign: (data) => {
        tries += 1
        if (answer === 'is away') return Promise.reject(new Pkcs11Error('the token is not there; put it back'))
        if (answer === 'is broken') return Promise.reject(new TypeError('a mistake of ours'))
        return signer.sign(data)
      },
    }),
  }
})

function watch() {
  const pkcs11Key = { module: '/token.so', place: { tokenLabel: 'a' }, keyLabel: 'b', pin: 'never-in-a-log' }
  const keys = {
    signing: { pkcs11Key, chain, previous: [fileKey] },
    statusLists: { ...fileKey, previous: [{ pkcs11Key, chain }] },
    secrets: [new Uint8Array(32)] as never,
  }
  const watched = watchPkcs11Keys({ keys, tokens, log, now: () => new Date(clock) })
  const runMinutes = async (count: number) => {
    for (let minute = 0; minute < count; minute += 1) {
      clock += MINUTE_MS
      await watched.tasks[0]?.run()
    }
    return lines.splice(0)
  }
  return { ...watched, runMinutes }
}

it('tells of a key whose token is away: an error at once and one an hour, and that it is back', async () => {
  const { getStates, runMinutes } = watch()
  expect([...getStates()]).toEqual([
    ['signing', true],
    ['keys.statusLists.previous[0]', true],
  ])
  expect(await runMinutes(3)).toEqual([])
  expect(tries).toBe(6)
  answer = 'is away'
  const lost = { level: 50, event: 'token_key_lost', problem: 'the token is not there; put it back' }
  expect(await runMinutes(60)).toMatchObject([
    { ...lost, key: 'signing' },
    { ...lost, key: 'keys.statusLists.previous[0]' },
  ])
  expect([...getStates().values()]).toEqual([false, false])
  expect(await runMinutes(60)).toMatchObject([lost, lost])
  answer = 'signs'
  expect(await runMinutes(2)).toMatchObject([
    { level: 30, event: 'token_key_back', key: 'signing' },
    { level: 30, event: 'token_key_back', key: 'keys.statusLists.previous[0]' },
  ])
  expect([...getStates().values()]).toEqual([true, true])
  answer = 'is away'
  const text = JSON.stringify(await runMinutes(1))
  expect(text).toContain('token_key_lost')
  expect(text).not.toContain('never-in-a-log')
})

it('is a failed round where something else is wrong', async () => {
  const { runMinutes } = watch()
  answer = 'is broken'
  await expect(runMinutes(1)).rejects.toThrow('a mistake of ours')
})

it('has no task where all keys are in files', () => {
  const keys = { signing: { ...fileKey, previous: [] }, secrets: [new Uint8Array(32)] as never }
  const { tasks, getStates } = watchPkcs11Keys({ keys, tokens, log, now: () => new Date() })
  expect([tasks, getStates().size]).toEqual([[], 0])
})
