/** Tests the dataset of a form, also for names of claims that are special to JavaScript. */
import { afterEach, describe, expect, it } from 'vitest'
import { datasetOf } from '../console/dataset.ts'

describe('the dataset of a form', () => {
  afterEach(() => {
    delete (Object.prototype as { polluted?: unknown }).polluted
  })

  it('has each claim at its path, and none that is empty', () => {
    const claims = [
      { path: ['name'], text: 'Ada' },
      { path: ['address', 'city'], text: 'Paris' },
      { path: ['address', 'street'], text: 'Rue' },
      { path: ['email'], text: '' },
    ]
    expect(JSON.stringify(datasetOf(claims))).toBe('{"name":"Ada","address":{"city":"Paris","street":"Rue"}}')
  })

  it.each([
    [['__proto__', 'polluted'], '{"__proto__":{"polluted":"x"}}'],
    [['constructor', 'prototype', 'polluted'], '{"constructor":{"prototype":{"polluted":"x"}}}'],
    [['a', '__proto__', 'polluted'], '{"a":{"__proto__":{"polluted":"x"}}}'],
    [['__proto__'], '{"__proto__":"x"}'],
  ])('keeps to itself at %j', (path, text) => {
    expect(JSON.stringify(datasetOf([{ path, text: 'x' }]))).toBe(text)
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })
})
