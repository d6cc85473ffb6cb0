import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { p256, p384, p521 } from '@noble/curves/nist.js'
import type { PKCS11 } from 'pkcs11js'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { makeKey } from '../../../test/support/services.ts'
import { type Certificate, parseCertificate } from '../certificate.ts'
import { makeSelfSignedCertificate } from '../make-certificate.ts'
import { verifySignature } from '../signature.ts'
import type { Signer } from '../signer.ts'
import { findPkcs11Mistakes } from './check.ts'
import { createPkcs11Tokens, type Pkcs11Key, type Pkcs11Tokens } from './signer.ts'

const CURVES = { ES256: p256, ES384: p384, ES512: p521 }
type Alg = keyof typeof CURVES
interface StoredKey {
  readonly curve: typeof p256
  readonly secret: Uint8Array
}

/** A token in memory, behind the interface of the package pkcs11js, as an HSM behaves at its worst. */
class Token {
  /** The keys by their labels; a second key of the same label ends with `#2`. */
  readonly keys = new Map<string, StoredKey>()
  pin = '1234'
  logins = 0
  initialized = 0
  ends = 0
  present = true
  /** Whether the module answers nothing until it is initialized again, as SoftHSM after its directory was away. */
  isStale = false
  most = 100
  /** The errors that the next calls of C_Sign answer, instead of a signature. */
  readonly failures: string[] = []
  readonly sessions = new Set<string>()
  readonly busy = new Set<string>()
  mostBusy = 0
  signatures = 0
  /** How long C_Sign takes; never ends by itself while it is Infinity. */
  signMs = 0
  /** Ends the calls of C_Sign that would not end by themselves. */
  readonly answers: (() => void)[] = []
  isLoggedIn = false

  remove(): void {
    this.sessions.clear()
    this.isLoggedIn = false
  }
}

const error = (code: string): Error => new Error(code)

function moduleOf(token: Token): new () => PKCS11 {
  let count = 0
  let isInitialized = false
  const initialized = new Map<string, StoredKey>()
  const inSession = (session: Buffer): string => {
    const name = session.toString()
    if (!token.sessions.has(name)) throw error('CKR_SESSION_HANDLE_INVALID')
    return name
  }
  return class {
    load(path: string): void {
      if (path !== '/token.so') throw new Error(`${path}: cannot open shared object file`)
    }
    C_Initialize(): void {
      token.initialized += 1
      if (isInitialized) throw error('CKR_CRYPTOKI_ALREADY_INITIALIZED')
      isInitialized = true
      token.isStale = false
    }
    C_Finalize(): void {
      if (token.busy.size > 0) throw new Error('undefined behaviour')
      token.ends += 1
      isInitialized = false
      // Handles of the next generation are those of this one again.
      count = 0
      token.remove()
    }
    C_GetSlotList(): Buffer[] {
      return token.present ? [Buffer.from('0700000000000000', 'hex'), Buffer.from('0800000000000000', 'hex')] : []
    }
    C_GetTokenInfo(slot: Buffer): { readonly label: string } {
      return { label: (slot[0] === 7 ? 'issuer' : 'other').padEnd(32) }
    }
    C_OpenSession(): Buffer {
      if (token.isStale) throw error('CKR_GENERAL_ERROR')
      if (token.sessions.size >= token.most) throw error('CKR_SESSION_COUNT')
      const name = `session ${count++}`
      token.sessions.add(name)
      return Buffer.from(name)
    }
    C_CloseSession(session: Buffer): void {
      token.sessions.delete(inSession(session))
      // PKCS #11 v2.40 section 5.6: with its last session an application is logged out.
      if (token.sessions.size === 0) token.isLoggedIn = false
    }
    C_Login(session: Buffer, _: number, pin: string): void {
      inSession(session)
      token.logins += 1
      if (pin !== token.pin) throw error('CKR_PIN_INCORRECT')
      if (token.isLoggedIn) throw error('CKR_USER_ALREADY_LOGGED_IN')
      token.isLoggedIn = true
    }
    found: Buffer[] = []
    C_FindObjectsInit(
      session: Buffer,
      template: readonly { readonly type: number; readonly value: number | string }[],
    ): void {
      inSession(session)
      const label = template.find(({ type }) => type === 3)?.value
      const visible = token.isLoggedIn ? [...token.keys.keys()] : []
      this.found = visible.filter((name) => name.split('#')[0] === label).map((name) => Buffer.from(name))
    }
    C_FindObjects(): Buffer[] {
      return this.found
    }
    C_FindObjectsFinal(): void {
      this.found = []
    }
    C_SignInit(session: Buffer, _: object, key: Buffer): void {
      const name = inSession(session)
      if (token.busy.has(name)) throw error('CKR_OPERATION_ACTIVE')
      initialized.set(name, token.keys.get(key.toString()) as StoredKey)
    }
    async C_SignAsync(session: Buffer, digest: Buffer, signature: Buffer): Promise<Buffer> {
      const name = inSession(session)
      token.busy.add(name)
      token.mostBusy = Math.max(token.mostBusy, token.busy.size)
      await new Promise<void>((resolve) => {
        if (token.signMs === 0) setImmediate(resolve)
        else if (token.signMs === Infinity) token.answers.push(resolve)
        else setTimeout(resolve, token.signMs)
      })
      token.busy.delete(name)
      const failure = token.failures.shift()
      if (failure === 'CKR_DEVICE_REMOVED') token.remove()
      if (failure !== undefined) throw error(failure)
      inSession(session)
      token.signatures += 1
      const { curve, secret } = initialized.get(name) as StoredKey
      const bytes = curve.sign(digest, secret, { prehash: false })
      signature.set(bytes)
      return signature.subarray(0, bytes.length)
    }
  }
}

const KEY: Pkcs11Key = { module: '/token.so', place: { tokenLabel: 'issuer' }, keyLabel: 'signing', pin: '1234' }
const data = Buffer.from('what is signed')

let token: Token
let tokens: Pkcs11Tokens
let chains: Record<Alg, readonly [Certificate]>
let clock: number

async function storedKey(alg: Alg): Promise<{ readonly stored: StoredKey; readonly certificate: Certificate }> {
  const key = await makeKey(alg)
  const { d = '' } = key.export({ format: 'jwk' })
  return { stored: { curve: CURVES[alg], secret: Buffer.from(d, 'base64url') }, certificate: certificateOf(key) }
}

function certificateOf(key: KeyObject): Certificate {
  const names = { commonName: 'Uni', serial: randomBytes(16) }
  const times = { notBefore: new Date(Date.now() - 1e6), notAfter: new Date(Date.now() + 1e9) }
  const publicKey = createPublicKey(key)
  return parseCertificate(makeSelfSignedCertificate({ privateKey: key, publicKey, ...names, ...times }))
}

beforeEach(async () => {
  token = new Token()
  clock = 0
  const made = await Promise.all(
    (['ES256', 'ES384', 'ES512'] as const).map(async (alg) => [alg, await storedKey(alg)] as const),
  )
  for (const [alg, { stored }] of made) token.keys.set(alg, stored)
  chains = Object.fromEntries(made.map(([alg, { certificate }]) => [alg, [certificate]])) as unknown as typeof chains
  tokens = createPkcs11Tokens({
    loadPackage: () => Promise.resolve({ PKCS11: moduleOf(token) }),
    now: () => new Date(clock),
  })
})

const signerOf = (change: Partial<Pkcs11Key> = {}, alg: Alg = 'ES256') =>
  tokens.createSigner({ ...KEY, keyLabel: alg, ...change }, chains[alg])
const isGood = async (alg: Alg = 'ES256') =>
  verifySignature(chains[alg][0].publicKey, data, await signerOf({}, alg).sign(data))

describe('a key in a token', () => {
  it.each(['ES256', 'ES384', 'ES512'] as const)('signs as one in a file does: %s', async (alg) => {
    expect(signerOf({}, alg)).toMatchObject({ alg, jwk: { kty: 'EC' }, x5c: [expect.any(String)] })
    expect(await isGood(alg)).toBe(true)
  })

  it('is found by the slot of its token as well', async () => {
    const signature = await signerOf({ place: { slot: 7 } }).sign(data)
    expect(verifySignature(chains.ES256[0].publicKey, data, signature)).toBe(true)
  })

  it('signs for many who ask at once, in few sessions, each for one at a time, after one login', async () => {
    const good = await Promise.all(
      Array.from({ length: 50 }, (_, index) => isGood(index % 2 === 0 ? 'ES256' : 'ES384')),
    )
    expect(good.every(Boolean)).toBe(true)
    expect([token.sessions.size, token.mostBusy, token.logins, token.initialized > 0]).toEqual([4, 3, 1, true])
  })

  it('has a session anew when the token was away, and a signature that was on its way comes all the same', async () => {
    await isGood()
    token.remove()
    expect(await Promise.all(Array.from({ length: 10 }, () => isGood()))).toEqual(Array(10).fill(true))
    token.failures.push('CKR_DEVICE_REMOVED')
    expect(await isGood()).toBe(true)
  })

  it('closes the session in which something failed, so that none is left over', async () => {
    token.most = 5
    for (let count = 0; count < 20; count += 1) {
      token.failures.push('CKR_FUNCTION_FAILED')
      await expect(signerOf().sign(data)).rejects.toThrow('the token failed; look at its own log (CKR_FUNCTION_FAILED)')
    }
    expect(await isGood()).toBe(true)
    expect(token.sessions.size).toBeLessThan(3)
  })

  it('has its module initialized anew when that sees a token that came back only then', async () => {
    await isGood()
    token.remove()
    token.isStale = true
    expect(await Promise.all(Array.from({ length: 10 }, () => isGood()))).toEqual(Array(10).fill(true))
    expect(token.ends).toBe(1)
  })

  it('does not sign with the key of another token whose session has the same handle after that', async () => {
    const other = signerOf({ place: { slot: 8 }, keyLabel: 'ES384' }, 'ES384')
    await other.sign(data)
    await isGood()
    token.remove()
    token.isStale = true
    expect(await isGood()).toBe(true)
    expect(verifySignature(chains.ES384[0].publicKey, data, await other.sign(data))).toBe(true)
  })

  it('leaves its module alone while another token signs, and for ten seconds after its end', async () => {
    const none = signerOf({ place: { tokenLabel: 'none' } })
    await isGood()
    const signed = isGood()
    await expect(none.sign(data)).rejects.toThrow('there is no token none')
    expect([await signed, token.ends]).toEqual([true, 0])
    for (const afterMs of [1000, 9999, 1000]) {
      clock += afterMs
      await expect(none.sign(data)).rejects.toThrow('there is no token none')
    }
    expect([await isGood(), token.ends]).toEqual([true, 2])
  })

  it('sends a PIN that was refused never again, so that the token does not lock it', async () => {
    const wrong = signerOf({ pin: '9999' })
    for (let count = 0; count < 5; count += 1) {
      clock += 60_000
      await expect(wrong.sign(data)).rejects.toThrow(
        /^the PIN in pinFile is wrong; correct it before .* \(CKR_PIN_INCORRECT\)$/,
      )
    }
    expect(token.logins).toBe(1)
  })

  it('is asked again a second after its token was not there', async () => {
    token.present = false
    await expect(signerOf().sign(data)).rejects.toThrow(
      'there is no token issuer; put it there, or name one of these: none is there',
    )
    token.present = true
    await expect(signerOf().sign(data)).rejects.toThrow('there is no token issuer')
    clock += 1000
    expect(await isGood()).toBe(true)
  })

  it('is looked for again at once where the clock was set back since it was not there', async () => {
    token.present = false
    await expect(signerOf().sign(data)).rejects.toThrow('there is no token issuer')
    token.present = true
    clock -= 3_600_000
    expect(await isGood()).toBe(true)
  })

  it.each<[string, Partial<Pkcs11Key>, RegExp]>([
    [
      'another module',
      { module: '/nowhere.so' },
      /^the module cannot be loaded: .*cannot open shared object file; is it/,
    ],
    [
      'another token',
      { place: { tokenLabel: 'x' } },
      /^there is no token x; .* one of these: issuer \(slot 7\), other \(slot 8\)$/,
    ],
    ['another slot', { place: { slot: 1 } }, /^there is no slot 1; put it there, or name/],
    [
      'a key that is not there',
      { keyLabel: 'x' },
      /^the token has no private key with the label x; give one key that label/,
    ],
  ])('tells what to do about %s', async (_, change, why) => {
    await expect(signerOf(change).sign(data)).rejects.toThrow(why)
    expect(await isGood()).toBe(true)
  })

  it('tells that the key is on another curve than its certificate', async () => {
    await expect(signerOf({ keyLabel: 'ES384' }).sign(data)).rejects.toThrow('ES384 is on another curve than its')
  })

  it('tells that two keys have the label', async () => {
    token.keys.set('ES256#2', token.keys.get('ES384') as StoredKey)
    await expect(signerOf().sign(data)).rejects.toThrow('the token has several private keys with the label ES256')
  })

  it('is tried before a service starts: it must be the key of the certificate', async () => {
    const keysOf = (keyLabel: string, change: Partial<Pkcs11Key> = {}) => ({
      signing: { pkcs11Key: { ...KEY, keyLabel, ...change }, chain: chains.ES256, previous: [] },
      secrets: ['signing-key'] as const,
    })
    expect(await findPkcs11Mistakes(keysOf('ES256'), tokens)).toEqual([])
    token.keys.set('other', (await storedKey('ES256')).stored)
    const lasting = { isTemporary: false, isPinRefused: false }
    const otherKey =
      'signing.pkcs11: the key is not the one of the first certificate (CN=Uni); name its certificate, or another keyLabel'
    expect(await findPkcs11Mistakes(keysOf('other'), tokens)).toEqual([{ ...lasting, mistake: otherKey }])
    const noKey = expect.stringMatching(/^signing\.pkcs11: the token has no private key/) as string
    expect(await findPkcs11Mistakes(keysOf('none'), tokens)).toEqual([{ ...lasting, mistake: noKey }])
    const away = keysOf('ES256', { place: { tokenLabel: 'away' } })
    expect(await findPkcs11Mistakes(away, tokens)).toMatchObject([{ isTemporary: true, isPinRefused: false }])
    const wrongPin = keysOf('ES256', { pin: '9999' })
    expect(await findPkcs11Mistakes(wrongPin, tokens)).toMatchObject([{ isTemporary: false, isPinRefused: true }])
  })

  it('needs the certificate of an EC key', async () => {
    const ed25519 = certificateOf(await makeKey('EdDSA'))
    expect(() => tokens.createSigner(KEY, [ed25519])).toThrow(TypeError)
  })
})

describe('a token that gives no answer', () => {
  const SILENT = 'the token gives no answer for 5 seconds; look at its own log'
  const ask = (signer: Signer) => signer.sign(data).then(() => 'signed', String)
  const askOften = (count: number) => Promise.all(Array.from({ length: count }, () => ask(signerOf())))
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
  const answerAll = () => {
    token.signMs = 0
    for (const answer of token.answers.splice(0)) answer()
    return pass(0)
  }

  beforeEach(async () => {
    await isGood()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  })
  afterEach(() => vi.useRealTimers())

  it('is waited for five seconds, by what waits as well, with three of the threads of Node at most', async () => {
    token.signMs = Infinity
    const refused = askOften(20)
    await pass(5000)
    expect(new Set(await refused)).toEqual(new Set([`Error: ${SILENT}`]))
    expect([token.mostBusy, token.busy.size]).toEqual([3, 3])
    await pass(60_000)
    // All of its threads are taken, so that nothing more can be tried.
    expect(await ask(signerOf())).toBe(`Error: ${SILENT}`)
    expect(await ask(signerOf({ place: { slot: 8 } }))).toBe(`Error: ${SILENT}`)
    await answerAll()
    expect(await askOften(10)).toEqual(Array(10).fill('signed'))
    expect([token.mostBusy, token.logins]).toEqual([3, 1])
  })

  it('that answers nothing for minutes leaves a thread to the other tokens', async () => {
    const [audit, other] = [signerOf(), signerOf({ place: { slot: 8 } })]
    await isGood()
    for (let minute = 0; minute < 5; minute++) {
      token.signMs = Infinity
      const refused = ask(audit)
      await pass(5000)
      expect(await refused).toBe(`Error: ${SILENT}`)
      token.signMs = 0
      expect(await ask(other)).toBe('signed')
      await pass(55_000)
    }
    expect(token.busy.size).toBe(2)
    await answerAll()
    expect(await ask(audit)).toBe('signed')
  })

  it('is asked again after ten seconds with a thread that is free', async () => {
    token.signMs = Infinity
    const refused = ask(signerOf())
    await pass(5000)
    expect(await refused).toBe(`Error: ${SILENT}`)
    token.signMs = 0
    await pass(9999)
    expect(await ask(signerOf())).toBe(`Error: ${SILENT}`)
    await pass(1)
    expect([await ask(signerOf()), token.busy.size]).toEqual(['signed', 1])
  })

  it('is not asked again for a client that was refused, when it has lost the session meanwhile', async () => {
    token.signMs = Infinity
    const refused = ask(signerOf())
    await pass(5000)
    await refused
    token.failures.push('CKR_DEVICE_ERROR')
    await answerAll()
    expect([await ask(signerOf()), token.logins]).toEqual(['signed', 2])
    expect(token.signatures).toBe(2)
  })

  it('refuses what has waited for half a minute while it is slow, and does not sign that later', async () => {
    token.signMs = 4000
    const results = askOften(30)
    await pass(60_000)
    const [signed, refused] = [24, 6]
    const late = 'Error: the token signs too slowly for all that ask; use a faster one, or fewer requests at once'
    expect((await results).filter((result) => result === late)).toHaveLength(refused)
    expect(token.signatures).toBe(1 + signed)
  })
})
