import { describe, expect, it } from 'vitest'
import { CONFIG_FILE } from '../command-table/command.ts'
import { makeEngineFiles } from '../engine/init.ts'
import { makeFiles } from '../init/files.ts'
import type { ServiceName } from './service-kind.ts'
import { findOtherServiceMistake, findService, requireService } from './which-service.ts'

const NAMES: readonly ServiceName[] = ['issuer', 'verifier', 'engine']

/** Returns the configuration that `vouchsafe init` writes. */
async function configuration(name: ServiceName): Promise<object> {
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
    expect(await findService(await configuration(name))).toBe(name)
  })

  it.each(NAMES)('is told to whoever starts another with it: %s', async (name) => {
    const value = await configuration(name)
    const configFile = 'conf/a b.json'
    const mistakes = await Promise.all(
      NAMES.map((other) => findOtherServiceMistake(value, { name: other, configFile })),
    )
    const article = name === 'verifier' ? 'a' : 'an'
    const mistake = (other: ServiceName) =>
      `configuration: this is ${article} ${name}'s configuration, and not the ${other}'s; ` +
      `use: vouchsafe ${name} --config 'conf/a b.json'`
    expect(mistakes).toEqual(NAMES.map((other) => (other === name ? undefined : mistake(other))))
  })

  it('is told without the file where that is the usual one, and to the doctor with its own command', async () => {
    const start = { name: 'issuer', configFile: 'conf/server.json', before: ['doctor'] } as const
    expect(await findOtherServiceMistake(await configuration('verifier'), start)).toMatch(
      /; use: vouchsafe doctor verifier$/,
    )
  })

  it.each([
    ['nothing', {}],
    ['what several services have', { port: 1, baseUrl: 'http://127.0.0.1:1', tls: {} }],
    ['settings of two services', { identity: {}, issuer: {} }],
    ['no object', null],
  ])('is not known of %s', async (_, value) => {
    expect(await findService(value)).toBe(undefined)
  })

  it('is asked for by the option, with each service that the command is for', async () => {
    await expect(requireService({}, 'conf/any.json', NAMES)).rejects.toThrow(
      'conf/any.json does not tell whose configuration it is; name the service: --service issuer, or --service verifier, or --service engine',
    )
  })
})
