import { expect, it } from 'vitest'
import { readAnchorDirectory } from './anchor-directory.ts'

const fail = (code: string) => (): never => {
  throw Object.assign(new Error(`${code}: not for you`), { code })
}

const readWith = (files: Parameters<typeof readAnchorDirectory>[2]) =>
  readAnchorDirectory('issuerTrustAnchors', 'anchors', files, new Date())

it('says why the directory cannot be read', () => {
  expect(readWith({ list: fail('ENOENT'), read: () => '' })).toEqual({
    mistakes: ['issuerTrustAnchors: the directory cannot be read (ENOENT): anchors'],
  })
})

it('names every file that cannot be read or is none of certificates, and not the first alone', () => {
  const read = (path: string) => (path === 'anchors/b.pem' ? 'hello' : fail('EACCES')())
  expect(readWith({ list: () => ['a.pem', 'b.pem', 'c.pem'], read })).toEqual({
    mistakes: [
      'issuerTrustAnchors: the file may not be read by this user: anchors/a.pem',
      expect.stringMatching(/^issuerTrustAnchors: b\.pem: it holds no PEM certificate/),
      'issuerTrustAnchors: the file may not be read by this user: anchors/c.pem',
    ],
  })
})
