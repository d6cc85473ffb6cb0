import { describe, expect, it } from 'vitest'
import { findSessionCallbackMistakes, findSessionCallbackWarnings, resolveSessionCallback } from './session-callback.ts'

const url = 'https://app.example/events'
const secret = Buffer.alloc(24, 1).toString('base64')

describe('sessionCallback', () => {
  it.each([
    { url },
    { url: 'http://localhost:3000/events?a=b' },
    { url: 'http://10.1.2.3/' },
    { url: 'http://[fd00::1]/' },
    { url: 'http://app:3000' },
    { url, apiKey: 'k', secret },
    { url, secret: `whsec_${secret}` },
  ])('may be %j', (setting) => {
    expect(findSessionCallbackMistakes(setting)).toEqual([])
  })

  it.each([
    [{ url: 'app.example/events' }, /^sessionCallback\.url: it is not a URL/],
    [{ url: 'ftp://app.example' }, /^sessionCallback\.url: it must begin with https/],
    [{ url: 'http://app.example/events' }, /^sessionCallback\.url: http is for hosts of the own network only/],
    [{ url: 'http://8.8.8.8/' }, /^sessionCallback\.url: http is for hosts of the own network only/],
    [{ url: 'http://[2001:db8::1]/' }, /^sessionCallback\.url: http is for hosts of the own network only/],
    [{ url: 'https://user:pass@app.example' }, /^sessionCallback\.url: it must not contain a user or password/],
    [{ url: `${url}#a` }, /^sessionCallback\.url: it must not have a fragment/],
    [{ url, apiKey: 'a key' }, /^sessionCallback\.apiKey: it cannot be sent in a header/],
    [{ url, apiKey: 'a\nkey' }, /^sessionCallback\.apiKey: it cannot be sent in a header/],
    [{ url, apiKey: '' }, /^sessionCallback\.apiKey: it cannot be sent in a header/],
    [{ url, secret: 'not base64!' }, /^sessionCallback\.secret: it is not base64/],
    [{ url, secret: secret.slice(0, -4) }, /^sessionCallback\.secret: it has 21 bytes/],
    [{ url, secret: `whsec_whsec_${secret}` }, /^sessionCallback\.secret: it is not base64/],
    [{ url, secret: '' }, /^sessionCallback\.secret: it has 0 bytes/],
  ])('may not be %j', (setting, mistake) => {
    expect(findSessionCallbackMistakes(setting)).toEqual([expect.stringMatching(mistake)])
    const { apiKey, secret: wrong } = { apiKey: '', secret: '', ...setting }
    // A mistake has nothing of what is secret.
    for (const each of [apiKey, wrong]) {
      if (each.length > 1) expect(findSessionCallbackMistakes(setting).join()).not.toContain(each)
    }
  })

  it('has the bytes of its secret, with its prefix or without', () => {
    for (const text of [secret, `whsec_${secret}`]) {
      expect(resolveSessionCallback({ url, secret: text }).secret).toEqual(Buffer.alloc(24, 1))
    }
  })

  it('that nobody could tell from what a stranger sends is warned of', () => {
    expect(findSessionCallbackWarnings({ url })).toEqual([expect.stringMatching(/neither apiKey nor secret/)])
    expect(findSessionCallbackWarnings({ url, apiKey: 'k' })).toEqual([])
  })
})
