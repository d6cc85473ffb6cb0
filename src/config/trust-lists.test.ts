import { beforeAll, describe, expect, it } from 'vitest'
import { filesOf } from '../../test/support/services.ts'
import { LIST_URL, makeListSigner, PID_LIST } from '../../test/support/trust-list.ts'
import { toPem } from '../keys/make-certificate.ts'
import { readTrustLists } from './trust-lists.ts'

let files: ReturnType<typeof filesOf>
beforeAll(async () => {
  const { der } = await makeListSigner()
  files = filesOf(new Map([['signers/operator.pem', toPem(der)]]))
})

const setting = { url: LIST_URL, loteType: PID_LIST, signerTrustAnchors: 'signers' }
type Settings = NonNullable<Parameters<typeof readTrustLists>[0]>
const read = (settings: Settings) => readTrustLists(settings, files, new Date())

describe('the trust lists of a verifier', () => {
  it('are none without the setting', () => {
    expect(readTrustLists(undefined, files, new Date())).toEqual({ trustLists: [], warnings: [] })
  })

  it('have their signers and their types', () => {
    expect(read([{ ...setting, credentialTypes: ['urn:eudi:pid:1'] }])).toMatchObject({
      trustLists: [
        {
          url: LIST_URL,
          loteType: PID_LIST,
          credentialTypes: ['urn:eudi:pid:1'],
          signerAnchors: [{ subjectText: 'CN=Example scheme operator' }],
        },
      ],
    })
  })

  const wallets = PID_LIST.replace('PID', 'Wallet')
  it.each<[string, Settings, RegExp]>([
    ['no URL', [{ ...setting, url: 'lists' }], /^trustLists\[0\]\.url: it is not a URL; write it like https:/],
    [
      'http to a public host',
      [{ ...setting, url: 'http://lists.example.eu/a' }],
      /url: http is for hosts of the own network/,
    ],
    [
      'a password',
      [{ ...setting, url: 'https://a:b@lists.example.eu/' }],
      /url: it must not contain a user or password/,
    ],
    ['the same list twice', [setting, setting], /^trustLists\[1\]\.url: it is there twice/],
    ['a list of wallet providers', [{ ...setting, loteType: wallets }], /loteType: a list of this type has no issuers/],
    [
      'a directory that is not there',
      [{ ...setting, signerTrustAnchors: 'none' }],
      /^trustLists\[0\]\.signerTrustAnchors: there is no certificate in none .*; put those that you trust there$/,
    ],
  ])('are refused with %s', (_, settings, mistake) => {
    expect(read(settings)).toEqual({ mistakes: [expect.stringMatching(mistake)] })
  })
})
