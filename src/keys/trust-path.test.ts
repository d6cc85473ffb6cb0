import { generateKeyPair as generateKeyPairCallback, type KeyPairKeyObjectResult } from 'node:crypto'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { partOfLimit } from '../../test/support/processor-time.ts'
import { writeOctetString } from '../codec/der.ts'
import { MalformedError } from '../codec/malformed.ts'
import { type Certificate, parseCertificate } from './certificate.ts'
import { writeName } from './certificate-name.ts'
import { basicConstraints, extension, keyUsage, makeCertificate, toPem, usualExtensions } from './make-certificate.ts'
import { findTrustPath, readTrustAnchors } from './trust-path.ts'

/** A certificate and the key in it. */
interface Party {
  readonly certificate: Certificate
  readonly keys: KeyPairKeyObjectResult
}

interface Change {
  readonly keys?: KeyPairKeyObjectResult
  /** The key that really signs, when it is not the issuer's. */
  readonly signer?: KeyPairKeyObjectResult
  readonly isCa?: boolean
  readonly pathLength?: number
  readonly notBefore?: Date
  readonly notAfter?: Date
  readonly extensions?: readonly Buffer[]
}

const NOW = new Date('2027-06-01T00:00:00Z')
const PAST = new Date('2027-03-01T00:00:00Z')
const FUTURE = new Date('2027-09-01T00:00:00Z')
const generateKeyPair = promisify(generateKeyPairCallback)
const newKeys = () => generateKeyPair('ec', { namedCurve: 'P-256' })
const rootKeys = await newKeys()
const otherKeys = await newKeys()
const spareKeys = await Promise.all(Array.from({ length: 10 }, newKeys))
let issued = 0

function issue(commonName: string, by: Party | undefined, change: Change = {}): Party {
  issued += 1
  const keys = change.keys ?? spareKeys[issued % spareKeys.length] ?? rootKeys
  const issuerKeys = by?.keys ?? keys
  const { isCa = false, pathLength } = change
  const subject = writeName([['CN', commonName]])
  const der = makeCertificate({
    subject,
    publicKey: keys.publicKey,
    issuer: { name: by?.certificate.subject ?? subject, privateKey: (change.signer ?? issuerKeys).privateKey },
    serial: Buffer.from(issued.toString(16).padStart(6, '0'), 'hex'),
    notBefore: change.notBefore ?? new Date('2027-01-01T00:00:00Z'),
    notAfter: change.notAfter ?? new Date('2028-01-01T00:00:00Z'),
    extensions:
      change.extensions ??
      usualExtensions({
        publicKey: keys.publicKey,
        issuerPublicKey: issuerKeys.publicKey,
        isCa,
        ...(pathLength === undefined ? {} : { pathLength }),
      }),
  })
  return { certificate: parseCertificate(der), keys }
}

const ca = (commonName: string, by: Party | undefined, change: Change = {}) =>
  issue(commonName, by, { isCa: true, ...change })

function find(chain: readonly Party[], anchors: readonly Party[], now = NOW, skew = 0) {
  const certificates = (parties: readonly Party[]) => parties.map(({ certificate }) => certificate)
  return findTrustPath(certificates(chain), certificates(anchors), { now, clockSkewSeconds: skew })
}

/** Returns the names on the path, or the problem without its introduction. */
function outcome(chain: readonly Party[], anchors: readonly Party[], now = NOW, skew = 0): string | string[] {
  const found = find(chain, anchors, now, skew)
  if ('path' in found) return found.path.map(({ subjectText }) => subjectText.slice('CN='.length))
  return found.problem.replace(/^'.*', issued by .*, is not trusted: /, '')
}

const root = ca('Root', undefined, { keys: rootKeys })
const intermediate = ca('Intermediate', root)
const leaf = issue('Leaf', intermediate)

describe('a certificate is trusted', () => {
  test('when it is an anchor itself, self-signed or not, CA or not', () => {
    const alone = issue('Alone', undefined)
    expect(outcome([alone], [root, alone])).toEqual(['Alone'])
    expect(outcome([leaf], [leaf])).toEqual(['Leaf'])
    expect(outcome([leaf, intermediate], [leaf, root])).toEqual(['Leaf'])
  })

  test('by another path where it is an anchor itself, and that path is not accepted', () => {
    const [chain, anchors] = [
      [leaf, intermediate],
      [leaf, root],
    ].map((all) => all.map((one) => one.certificate))
    const options = { now: NOW, clockSkewSeconds: 0 }
    const long = findTrustPath(chain ?? [], anchors ?? [], { ...options, accepts: (path) => path.length > 1 })
    expect(long).toMatchObject({ path: { length: 3 } })
    const none = findTrustPath(chain ?? [], anchors ?? [], { ...options, accepts: () => false })
    expect(none).toHaveProperty('problem')
  })

  test('when an anchor issued it', () => {
    expect(outcome([issue('Direct', root)], [root])).toEqual(['Direct', 'Root'])
  })

  test('when certificates that were sent lead to an anchor, in any order and among others', () => {
    const unrelated = ca('Unrelated', undefined)
    const second = ca('Second', intermediate)
    const deep = issue('Deep', second)
    const path = ['Deep', 'Second', 'Intermediate', 'Root']
    expect(outcome([deep, second, intermediate], [root])).toEqual(path)
    expect(outcome([deep, unrelated, intermediate, second, second], [root])).toEqual(path)
  })

  test('when the anchor was sent along as well', () => {
    expect(outcome([leaf, intermediate, root], [root])).toEqual(['Leaf', 'Intermediate', 'Root'])
  })

  test('when the anchor is an intermediate certificate, and the path ends there', () => {
    expect(outcome([leaf, intermediate, root], [intermediate])).toEqual(['Leaf', 'Intermediate'])
  })

  test('when another anchor or intermediate has the same name', () => {
    const namesake = ca('Root', undefined, { keys: otherKeys })
    const expired = ca('Intermediate', root, { keys: intermediate.keys, notAfter: PAST })
    expect(outcome([leaf, expired, intermediate], [namesake, root])).toEqual(['Leaf', 'Intermediate', 'Root'])
  })

  test('when the key identifiers are of no help', () => {
    const mute = ca('Mute', root, { extensions: [basicConstraints(true)] })
    expect(outcome([issue('Leaf', mute), mute], [root])).toEqual(['Leaf', 'Mute', 'Root'])
    const misleading = issue('Leaf', root, {
      extensions: usualExtensions({ ...otherKeys, issuerPublicKey: otherKeys.publicKey, isCa: false }),
    })
    expect(outcome([misleading], [root])).toEqual(['Leaf', 'Root'])
  })

  test('when the first way is a dead end and the second is not', () => {
    const elsewhere = ca('Elsewhere', undefined)
    const crossed = ca('Intermediate', elsewhere, { keys: intermediate.keys })
    expect(outcome([leaf, crossed, elsewhere, intermediate], [root])).toEqual(['Leaf', 'Intermediate', 'Root'])
  })

  test('when what does not help was sent many times', () => {
    const expired = ca('Intermediate', root, { keys: intermediate.keys, notAfter: PAST })
    const chain = [leaf, ...Array<Party>(100).fill(expired), ...Array<Party>(100).fill(leaf), intermediate]
    expect(outcome(chain, [root])).toEqual(['Leaf', 'Intermediate', 'Root'])
  })

  test('when the clocks differ by no more than allowed', () => {
    expect(outcome([leaf, intermediate], [root], new Date('2028-01-01T00:01:00Z'), 60)).toHaveLength(3)
    expect(outcome([leaf, intermediate], [root], new Date('2028-01-01T00:01:01Z'), 60)).toMatch(/expired/)
  })
})

describe('a certificate is not trusted', () => {
  test('when nothing was sent, or nobody is trusted', () => {
    expect(outcome([], [root])).toBe('no certificate was sent')
    expect(outcome([leaf, intermediate, root], [])).toBe('there are no trust anchors')
  })

  test('when nobody knows its issuer, and the whole problem says who it is', () => {
    expect(find([leaf], [root])).toEqual({
      problem:
        "'CN=Leaf', issued by 'CN=Intermediate', is not trusted: " +
        "no anchor is named 'CN=Intermediate', and no certificate of that name was sent",
    })
  })

  test('when it is self-signed and no anchor', () => {
    expect(outcome([issue('Alone', undefined)], [root])).toBe(
      "'CN=Alone' names itself as its issuer and is not an anchor",
    )
  })

  test('when the path ends at a root that was sent and is not an anchor', () => {
    const stranger = ca('Stranger', undefined)
    const between = ca('Between', stranger)
    expect(outcome([issue('Leaf', between), between, stranger], [root])).toBe(
      "'CN=Stranger' names itself as its issuer and is not an anchor",
    )
  })

  test('when an anchor of that name has another key', () => {
    const namesake = ca('Root', undefined, { keys: otherKeys })
    expect(outcome([leaf, intermediate], [namesake])).toBe(
      "the trust anchor 'CN=Root' is named as the issuer of 'CN=Intermediate', but its key did not sign it",
    )
  })

  test('when it is self-signed and an anchor of that name has another key, in a sentence that fits into a report', () => {
    const name = 'Ministry of Education'
    const found = find([ca(name, undefined)], [ca(name, undefined, { keys: otherKeys })])
    expect(found).toEqual({
      problem:
        `'CN=${name}', issued by itself, is not trusted: ` +
        `the trust anchor 'CN=${name}' is another certificate of that name`,
    })
  })

  test('when the names are right and a signature is not', () => {
    const forged = issue('Leaf', intermediate, { signer: otherKeys })
    expect(outcome([forged, intermediate], [root])).toMatch(
      /certificate 'CN=Intermediate' is named as the issuer of 'CN=Leaf', but/,
    )
    const forgedCa = ca('Forged', root, { signer: otherKeys })
    expect(outcome([issue('Leaf', forgedCa), forgedCa], [root])).toMatch(
      /anchor 'CN=Root' is named as the issuer of 'CN=Forged', but/,
    )
  })

  test('when it is signed with an algorithm that is not taken', () => {
    // ecdsa-with-SHA224 in the place of ecdsa-with-SHA256.
    const hex = leaf.certificate.der.toString('hex').replaceAll('2a8648ce3d040302', '2a8648ce3d040301')
    const weak = { keys: leaf.keys, certificate: parseCertificate(Buffer.from(hex, 'hex')) }
    expect(outcome([weak, intermediate], [root])).toBe(
      "the certificate 'CN=Leaf' is signed with an algorithm that is not supported (1.2.840.10045.4.3.1)",
    )
  })

  test('when the key is right and a name is not', () => {
    const renamed = ca('Renamed', root, { keys: intermediate.keys })
    expect(outcome([leaf, renamed], [root])).toMatch(/no anchor is named 'CN=Intermediate'/)
  })

  test('when its issuer is not a CA, though that one is trusted', () => {
    const student = issue('Student', leaf)
    const sentence = "the issuer certificate 'CN=Leaf' is not a CA (its basic constraints do not say so)"
    expect(outcome([student, leaf, intermediate], [root])).toBe(sentence)
    expect(outcome([student], [leaf])).toBe(sentence)
  })

  test.each<[string, readonly Buffer[]]>([
    ['without basic constraints', [keyUsage(['keyCertSign'])]],
    ['without any extension', []],
    ['that say it is none', [basicConstraints(false), keyUsage(['keyCertSign'])]],
  ])('when an intermediate or the anchor is a CA %s', (_, extensions) => {
    const between = issue('Between', root, { extensions })
    const top = issue('Top', undefined, { extensions })
    expect(outcome([issue('Leaf', between), between], [root])).toMatch(/issuer certificate 'CN=Between' is not a CA/)
    expect(outcome([issue('Leaf', top)], [top])).toMatch(/issuer certificate 'CN=Top' is not a CA/)
  })

  test('when an intermediate or the anchor has a key usage without keyCertSign', () => {
    const extensions = [basicConstraints(true), keyUsage(['digitalSignature', 'cRLSign'])]
    const between = issue('Between', root, { extensions })
    const top = issue('Top', undefined, { extensions })
    expect(outcome([issue('Leaf', between), between], [root])).toMatch(/'CN=Between' does not allow keyCertSign/)
    expect(outcome([issue('Leaf', top)], [top])).toMatch(/'CN=Top' does not allow keyCertSign/)
  })

  test('when there are more CAs than the path length allows', () => {
    const strict = ca('Strict', root, { pathLength: 0 })
    const below = ca('Below', strict)
    expect(outcome([issue('Leaf', strict), strict], [root])).toEqual(['Leaf', 'Strict', 'Root'])
    expect(outcome([issue('Leaf', below), below, strict], [root])).toBe(
      "the issuer certificate 'CN=Strict' allows 0 CAs below itself, and there are 1",
    )
    const one = ca('One', undefined, { pathLength: 1 })
    const first = ca('First', one)
    expect(outcome([issue('Leaf', first), first], [one])).toEqual(['Leaf', 'First', 'One'])
    const deeper = ca('Deeper', first)
    expect(outcome([issue('Leaf', deeper), deeper, first], [one])).toMatch(/'CN=One' allows 1 CAs .* there are 2/)
  })

  test('only for CAs that it issued to others: those it issued to itself do not count', () => {
    const strict = ca('Strict', undefined, { pathLength: 0 })
    const renewed = ca('Strict', strict, { keys: otherKeys })
    expect(outcome([issue('Leaf', renewed), renewed], [strict])).toEqual(['Leaf', 'Strict', 'Strict'])
  })

  test('when one on the path has expired', () => {
    const late = { notAfter: PAST }
    const sentence = (name: string) => `the certificate 'CN=${name}' expired on 2027-03-01T00:00:00Z`
    const between = ca('Between', root, late)
    const top = ca('Top', undefined, late)
    expect(outcome([issue('Leaf', root, late)], [root])).toBe(sentence('Leaf'))
    expect(outcome([issue('Leaf', between), between], [root])).toBe(sentence('Between'))
    expect(outcome([issue('Leaf', top)], [top])).toBe(sentence('Top'))
    expect(outcome([top], [top])).toBe(sentence('Top'))
  })

  test('when one on the path is not valid yet', () => {
    const early = { notBefore: FUTURE }
    const between = ca('Between', root, early)
    const top = ca('Top', undefined, early)
    expect(outcome([issue('Leaf', root, early)], [root])).toMatch(/'CN=Leaf' is not valid before 2027-09-01/)
    expect(outcome([issue('Leaf', between), between], [root])).toMatch(/'CN=Between' is not valid before 2027-09-01/)
    expect(outcome([issue('Leaf', top)], [top])).toMatch(/'CN=Top' is not valid before 2027-09-01/)
    expect(outcome([top], [top])).toMatch(/'CN=Top' is not valid before 2027-09-01/)
  })

  test.each([
    ['1.2.3.4', true],
    ['2.5.29.30', true],
    ['2.5.29.30', false],
    ['2.5.29.36', true],
  ])('when one on the path has the extension %s (critical: %s)', (oid, critical) => {
    const strange = extension(oid, critical, writeOctetString(Buffer.from('any')))
    const between = ca('Between', root, { extensions: [basicConstraints(true), strange] })
    const top = ca('Top', undefined, { extensions: [basicConstraints(true), strange] })
    const sentence = (name: string) =>
      `the certificate 'CN=${name}' has extensions that are not supported and must be: ${oid}`
    expect(outcome([issue('Leaf', root, { extensions: [strange] })], [root])).toBe(sentence('Leaf'))
    expect(outcome([issue('Leaf', between), between], [root])).toBe(sentence('Between'))
    expect(outcome([issue('Leaf', top)], [top])).toBe(sentence('Top'))
    expect(outcome([top], [top])).toBe(sentence('Top'))
  })

  test('when the path runs in a circle', () => {
    const [a, b] = [ca('A', undefined), ca('B', undefined)]
    const [aByB, bByA] = [ca('A', b, { keys: a.keys }), ca('B', a, { keys: b.keys })]
    expect(outcome([issue('Leaf', aByB), aByB, bByA], [root])).toMatch(/no anchor is named|names itself/)
  })

  test('when it is longer than eight certificates, the anchor included', () => {
    const chain = [root]
    for (let depth = 1; depth <= 7; depth += 1) chain.unshift(ca(`CA ${depth}`, chain[0]))
    const [seventh, sixth, ...rest] = chain
    expect(outcome([issue('Leaf', sixth), ...(sixth ? [sixth] : []), ...rest], [root])).toHaveLength(8)
    expect(outcome([issue('Leaf', seventh), ...chain], [root])).toBe('the path is longer than 8 certificates')
  })

  test('and is told the problem that was closest to an anchor', () => {
    const strangers = [ca('Intermediate', undefined), ca('Intermediate', undefined)]
    const between = ca('Intermediate', root, { notAfter: PAST })
    const chain = [issue('Leaf', between, { extensions: [] }), ...strangers, between, ...strangers]
    expect(outcome(chain, [root])).toMatch(/'CN=Intermediate' expired on 2027-03-01/)
  })
})

describe('a chain that is made to cost time', () => {
  async function quickly<T>(run: () => T): Promise<T> {
    const results: T[] = []
    expect(await partOfLimit(500, () => results.push(run()))).toBeLessThan(1)
    return results[0] as T
  }

  const namesakes = Array.from({ length: 1000 }, () => ca('Root', undefined, { keys: otherKeys }))

  test('a thousand certificates one above the other', async () => {
    const chain = [ca('CA', undefined)]
    for (let depth = 1; depth < 1000; depth += 1) chain.unshift(ca(`CA ${depth}`, chain[0]))
    expect(await quickly(() => outcome(chain, [root]))).toBe('the path is longer than 8 certificates')
  })

  test('a thousand certificates with one name and many keys that sign each other', async () => {
    const same = Array.from({ length: 1000 }, () => ca('Same', undefined))
    const chain = [issue('Leaf', same[0]), ...same]
    expect(await quickly(() => outcome(chain, [root]))).toMatch(/more than 32 signatures|longer than 8|no trust anchor/)
  })

  test.each([
    ['that no anchor signed', { signer: otherKeys }, []],
    ['of which an anchor signed the first', {}, ['CN=Top']],
  ])('certificates %s: no key verifies anything before it is trusted itself', (_, change, usedKeys) => {
    const top = ca('Top', root, change)
    const middle = ca('Middle', top, { signer: otherKeys })
    const used: string[] = []
    const chain = [issue('Leaf', middle), middle, top].map(({ certificate }) => ({
      ...certificate,
      get publicKey() {
        used.push(certificate.subjectText)
        return certificate.publicKey
      },
    }))
    expect(findTrustPath(chain, [root.certificate], { now: NOW, clockSkewSeconds: 0 })).toHaveProperty('problem')
    expect(used).toEqual(usedKeys)
  })

  test('a thousand namesakes of the anchor do not hide it', async () => {
    expect(await quickly(() => outcome([issue('Leaf', root), ...namesakes], [root]))).toEqual(['Leaf', 'Root'])
  })

  test('a dozen anchors with the key identifier of another in their certificates do not hide it', () => {
    const claimed = usualExtensions({ ...rootKeys, issuerPublicKey: rootKeys.publicKey, isCa: true })
    const claimants = Array.from({ length: 12 }, () => ca('Root', undefined, { keys: otherKeys, extensions: claimed }))
    expect(outcome([issue('Leaf', root)], [...claimants, root])).toEqual(['Leaf', 'Root'])
  })

  test.each([
    ['have ended', { notAfter: PAST }],
    ['are no CAs', { isCa: false }],
  ])('a dozen anchors with the key and the name of another, which %s, do not hide it', (_, change) => {
    const copies = Array.from({ length: 12 }, () => ca('Root', undefined, { keys: rootKeys, ...change }))
    expect(outcome([issue('Leaf', root)], [...copies, root])).toEqual(['Leaf', 'Root'])
    expect(outcome([issue('Leaf', root, { extensions: [] })], [...copies, root])).toEqual(['Leaf', 'Root'])
  })

  test('a dozen anchors with the name of an issuer below another anchor do not hide it', () => {
    const anchors = Array.from({ length: 12 }, () => ca('Intermediate', undefined, { keys: otherKeys }))
    expect(outcome([leaf, intermediate], [...anchors, root])).toEqual(['Leaf', 'Intermediate', 'Root'])
  })

  test('a thousand anchors with one name: the key identifier finds the right one, without it the search ends', async () => {
    const anchors = [...namesakes, root]
    expect(await quickly(() => outcome([issue('Leaf', root)], anchors))).toEqual(['Leaf', 'Root'])
    const mute = issue('Leaf', root, { extensions: [] })
    expect(await quickly(() => outcome([mute], anchors))).toMatch(
      /anchor 'CN=Root' is named as the issuer of 'CN=Leaf', but/,
    )
  })
})

test('fifty thousand anchors with names as long as those of others are as good as one', async () => {
  const others = Array.from({ length: 50_000 }, (_, n) => {
    const commonName = `Root ${n}`.padEnd(40, 'x')
    const subject = writeName([['CN', commonName]])
    return { ...root.certificate, subject, subjectText: `CN=${commonName}`, fingerprint: `${n}`.padStart(43, 'A') }
  })
  const long = ca('Root'.padEnd(40, 'x'), undefined)
  const chain = [issue('Leaf', long).certificate]
  const anchors = [...others, long.certificate]
  const search = () => findTrustPath(chain, anchors, { now: NOW, clockSkewSeconds: 0 })
  expect(search()).toHaveProperty('path')
  const tenTimes = () => Array.from({ length: 10 }, search)
  expect(await partOfLimit(300, tenTimes)).toBeLessThan(1)
})

describe('trust anchors in files', () => {
  const one = toPem(root.certificate.der)
  const two = toPem(leaf.certificate.der)

  test('every certificate of every file is one', () => {
    const files = [
      { name: 'a.pem', text: `${one}${two}` },
      { name: 'b.pem', text: one },
    ]
    expect(readTrustAnchors(files).map(({ subjectText }) => subjectText)).toEqual(['CN=Root', 'CN=Leaf', 'CN=Root'])
    expect(readTrustAnchors([])).toEqual([])
  })

  test('a file that is not of certificates is named', () => {
    const read = () =>
      readTrustAnchors([
        { name: 'a.pem', text: one },
        { name: 'b.pem', text: 'hello' },
      ])
    expect(read).toThrow(MalformedError)
    expect(read).toThrow('b.pem: it holds no PEM certificate')
  })
})

test('a search that finds a path gives back what it tried in vain on its way', () => {
  const expired = { keys: otherKeys, notBefore: new Date('2020-01-01'), notAfter: new Date('2021-01-01') }
  const intermediates = [expired, expired, { keys: otherKeys }].map((change) => ca('Intermediate', root, change))
  const chain = [issue('Leaf', intermediates[2]), ...intermediates].map(({ certificate }) => certificate)
  const budget = { remaining: 5 }
  for (let credentials = 0; credentials < 3; credentials += 1) {
    const options = { now: NOW, clockSkewSeconds: 0, budget }
    expect(findTrustPath(chain, [root.certificate], options)).toHaveProperty('path')
    expect(budget.remaining).toBe(5)
  }
})

test('anchors that are there many times are tried once', () => {
  const extensions = [basicConstraints(true)]
  const [old, renewed] = [
    ca('Renewed', undefined, { extensions }),
    ca('Renewed', undefined, { keys: otherKeys, extensions }),
  ]
  const copies = Array.from({ length: 20 }, () => ({ ...old, certificate: parseCertificate(old.certificate.der) }))
  expect(outcome([issue('Leaf', renewed, { extensions: [] })], [...copies, renewed])).toEqual(['Leaf', 'Renewed'])
})

test('a search that refuses every path ends when its budget is spent', () => {
  const roots = Array.from({ length: 20 }, () => ca('Root', undefined, { keys: rootKeys }))
  const [root] = roots
  const leaf = issue('Leaf', root)
  const budget = { remaining: 5 }
  const refused: string[] = []
  const accepts = (path: readonly Certificate[]) => refused.push(path.at(-1)?.fingerprint ?? '') === 0
  const anchors = roots.map(({ certificate }) => certificate)
  const options = { now: NOW, clockSkewSeconds: 0, budget, accepts }
  expect(findTrustPath([leaf.certificate], anchors, options)).toHaveProperty('problem')
  expect([new Set(refused).size, refused.length, budget.remaining]).toEqual([5, 5, 0])
  // A search without a budget of others has one of its own.
  expect(findTrustPath([leaf.certificate], anchors, { now: NOW, clockSkewSeconds: 0, accepts })).toHaveProperty(
    'problem',
  )
  expect(refused).toHaveLength(5 + 12)
})
