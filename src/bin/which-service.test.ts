import { describe, expect, it } from 'vitest'
import { makeEngineFiles } from './engine/init.ts'
import { CONFIG_FILE, makeFiles } from './init/files.ts'
import type { KindName } from './service-kind.ts'
import { otherServiceMistake, serviceOf } from './which-service.ts'

const NAMES: readonly KindName[] = ['issuer', 'verifier', 'engine']

/** The configuration that `vouchsafe init` writes. */
async function configuration(name: KindName): Promise<object> {
  const baseUrl = 'http://127.0.0.1:8080'
  const { files } =
    name === 'engine'
      ? (await makeEngineFiles(baseUrl, 'chain')).newFiles
      : await makeFiles({ service: name, baseUrl, port: 8080, displayName: 'Example' })
  const text = files.find(({ path }) => path === CONFIG_FILE)?.text ?? ''
  return JSON.parse(text) as object
}

describe('the service that a configuration is of', () => {
  it.each(NAMES)('is known by the settings of its own: %s', async (name) => {
    expect(await serviceOf(await configuration(name))).toBe(name)
  })

  it.each(NAMES)('is told to whoever starts another with it: %s', async (name) => {
    const value = await configuration(name)
    const mistakes = await Promise.all(NAMES.map((other) => otherServiceMistake(other, value)))
    const article = name === 'verifier' ? 'a' : 'an'
    const mistake = (other: KindName) =>
      `configuration: this is ${article} ${name}'s configuration, and not the ${other}'s`
    expect(mistakes).toEqual(NAMES.map((other) => (other === name ? undefined : mistake(other))))
  })

  it.each([
    ['nothing', {}],
    ['what several services have', { port: 1, baseUrl: 'http://127.0.0.1:1', tls: {} }],
    ['settings of two services', { identity: {}, issuer: {} }],
    ['no object', null],
  ])('is not known of %s', async (_, value) => {
    expect(await serviceOf(value)).toBe(undefined)
  })
})
