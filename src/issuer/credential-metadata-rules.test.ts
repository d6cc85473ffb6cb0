import { expect, it } from 'vitest'
import type { JsonObject } from '../codec/json.ts'
import { findImageWarnings, refuseInvalidCredentialMetadata } from './credential-metadata-rules.ts'

const MARKS = ['\u200e', '\u200f', '\u061c']
const TURNS = ['\u202a', '\u202b', '\u202c', '\u202d', '\u202e', '\u2066', '\u2067', '\u2068', '\u2069']

const shown = (text: string): readonly JsonObject[] =>
  [
    { name: text },
    { name: 'a', description: `${text}\n${text}` },
    { name: 'a', logo: { uri: 'https://a.example', alt_text: text } },
  ].map((display) => ({ credential_metadata: { display: [display] } }))
const described = (text: string): JsonObject => ({
  credential_metadata: { claims: [{ path: ['a'], display: [{ name: text }] }] },
})
const typed = (text: string): JsonObject => ({ type_metadata: { claims: [{ display: [{ label: text }] }] } })

const check = (members: JsonObject) => () =>
  refuseInvalidCredentialMetadata({ format: 'dc+sd-jwt', vct: 'x', ...members })

it('takes the marks of direction of Hebrew and Arabic in the texts that people read', () => {
  for (const mark of MARKS) {
    const text = `תעודה (C++)${mark}`
    for (const members of [...shown(text), described(text), typed(text)]) expect(check(members)).not.toThrow()
  }
})

it('refuses characters that turn other text, and marks in what people do not read', () => {
  for (const turn of TURNS) {
    for (const members of [...shown(turn), described(turn), typed(turn)])
      expect(check(members)).toThrow(/: it has a control character, or one that changes the writing direction/)
  }
  for (const mark of MARKS) {
    for (const members of [
      { vct: `x${mark}` },
      { scope: mark },
      { credential_metadata: { claims: [{ path: [`a${mark}`] }] } },
      { credential_metadata: { display: [{ name: 'a', [`name${mark}`]: 'b' }] } },
    ])
      expect(check(members)).toThrow(/: it has a control character, or one that changes the writing direction/)
  }
})

it('warns of images that some wallets cannot read, at their paths, and of no others', () => {
  const svg = { uri: 'data:image/svg+xml,%3Csvg%3E' }
  const display = [
    { name: 'a', logo: { uri: 'https://a.example/a.svg' }, background_image: { uri: 'data:image/png;base64,AA' } },
    { name: 'b', locale: 'de', logo: svg, background_image: { uri: 'http://127.0.0.1/a.png' } },
  ]
  expect(findImageWarnings({ format: 'dc+sd-jwt', vct: 'x', credential_metadata: { display } })).toEqual([
    expect.stringMatching(/^credential_metadata\.display\[1]\.logo\.uri: .*Credo/),
    expect.stringMatching(/^credential_metadata\.display\[1]\.background_image\.uri: .*Credo/),
  ])
  expect(findImageWarnings({ format: 'dc+sd-jwt', vct: 'x' })).toEqual([])
})

it('refuses a name that is blank, since wallets read no issuer with one', () => {
  for (const blank of ['', ' ', '\t\u00a0']) {
    expect(check({ credential_metadata: { display: [{ name: 'a' }, { name: blank, locale: 'de' }] } })).toThrow(
      /^credential_metadata\.display\[1\]\.name: /,
    )
    const claims = [{ path: ['a'] }, { path: ['b'], display: [{ name: blank }] }]
    expect(check({ credential_metadata: { claims } })).toThrow(
      /^credential_metadata\.claims\[1\]\.display\[0\]\.name: /,
    )
  }
})
