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

it('names every file that is none of certificates, and not the first alone', () => {
  const files = { list: () => ['junk.pem', 'zz.pem'], read: () => 'hello' }
  const reading = readAnchorDirectory('issuerTrustAnchors', 'anchors', files, new Date())
  const problem = 'it holds no PEM certificate'
  const mistakes =
    'mistakes' in reading ? reading.mistakes.map((mistake) => mistake.slice(0, mistake.indexOf(problem))) : []
  expect(mistakes).toEqual(['issuerTrustAnchors: junk.pem: ', 'issuerTrustAnchors: zz.pem: '])
})
