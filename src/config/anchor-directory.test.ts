import { expect, it } from 'vitest'
import { readAnchorDirectory } from './anchor-directory.ts'

const fail = (code: string) => (): never => {
  throw Object.assign(new Error(`${code}: not for you`), { code })
}

it.each([
  ['the directory', { list: fail('ENOENT'), read: () => '' }, 'ENOENT'],
  ['a file in it', { list: () => ['a.pem'], read: fail('EACCES') }, 'EACCES'],
])('says why %s cannot be read', (_, files, code) => {
  expect(readAnchorDirectory('issuerTrustAnchors', 'anchors', files, new Date())).toEqual({
    mistakes: [`issuerTrustAnchors: the directory or a file in it cannot be read (${code}): anchors`],
  })
})
