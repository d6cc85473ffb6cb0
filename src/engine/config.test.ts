import { describe, expect, it } from 'vitest'
import { IDENTITY_PEM } from '../../test/support/engine.ts'
import { readEngineConfig } from './config.ts'

const files = {
  read: (path: string) => {
    if (path === 'engine.key') return IDENTITY_PEM
    throw Object.assign(new Error('none'), { code: 'ENOENT' })
  },
  list: () => [],
  resolveLink: (path: string) => path,
}
const least = { identity: { keyFile: 'engine.key' }, chain: { type: 'local', directory: 'chain' } }
const read = (settings: object) => readEngineConfig({ ...least, ...settings }, files, new Date())
const mistakesOf = (settings: object): readonly string[] => {
  const result = read(settings)
  return 'mistakes' in result ? result.mistakes : []
}

describe('the configuration of an engine', () => {
  it('has a port of its own for metrics', () => {
    expect(mistakesOf({ management: { port: 8400 } })).toEqual([expect.stringMatching(/^management.port: 8400 is the/)])
  })

  it('is complete with a key and a chain', () => {
    const result = read({})
    if ('mistakes' in result) throw new Error(result.mistakes.join())
    expect(result.config).toMatchObject({
      port: 8400,
      contractFilter: 'all',
      componentDirectory: 'components',
      staleSeconds: 60,
      cors: true,
      database: { kind: 'sqlite', file: 'data/engine.db' },
      outbound: { allow: [], allowPrivateAddresses: false },
      management: undefined,
      limits: {
        ...{ bodyBytes: 1_048_576, headerBytes: 16_384, targetBytes: 8192, responseBytes: 1_048_576, httpSeconds: 5 },
        ...{ stateChangeSeconds: 30, memoryBytes: 67_108_864, moduleBytes: 8_388_608, logBytes: 65_536 },
        ...{
          outboundRequests: 5,
          httpReads: 64,
          stateChangeReads: 2048,
          outboundSeconds: 10,
          outboundBytes: 1_048_576,
          transactions: 16,
          randomBytes: 65_536,
        },
        ...{ storageValueBytes: 1_048_576, storageKeyBytes: 1024, storageBytes: 268_435_456, timers: 32 },
        ...{ concurrent: 8, queued: 64, requestsPerSecond: 50, requestBurst: 100 },
      },
    })
  })

  it('refuses a time between looks after which the engine would be stale before the next', () => {
    const mistake = (seconds: number) =>
      `pollMilliseconds: it must be less than staleSeconds (${seconds} seconds); make it shorter, a third or less, or staleSeconds longer`
    expect(mistakesOf({ pollMilliseconds: 60_000 })).toEqual([mistake(60)])
    expect(mistakesOf({ pollMilliseconds: 2000, staleSeconds: 2 })).toEqual([mistake(2)])
    expect(mistakesOf({ pollMilliseconds: 59_999 })).toEqual([])
    const evm = { chain: { type: 'evm', rpcUrl: 'http://localhost:8545' }, contractFilter: [] }
    expect(mistakesOf({ ...evm, staleSeconds: 2 })).toEqual([mistake(2)])
    expect(mistakesOf({ staleSeconds: 2 })).toEqual([])
  })

  it('says which file the key of the engine was looked for in, and where a key comes from', () => {
    expect(mistakesOf({ identity: { keyFile: 'absent.key' } })).toEqual([
      'identity.keyFile: there is no such file: absent.key; bring it back from a backup, as an engine with another key is another engine; or make a new one with vouchsafe init engine',
    ])
    expect(readEngineConfig(least, { ...files, read: () => '' }, new Date())).toEqual({
      mistakes: ['identity.keyFile: it holds no private key in PEM: engine.key'],
    })
  })

  it('is refused with every mistake at once, each with its path', () => {
    expect(
      mistakesOf({
        prot: 1,
        limits: { timers: -1, tmers: 1 },
        identity: { keyFile: 'absent.key' },
        chain: { type: 'evm', directory: 'x', rpcUrl: 'ftp://x' },
        contractFilter: ['0x12'],
        components: { x: 'y' },
        outbound: { allow: ['https://host/path'] },
        database: { encryptionKeyFile: 'k' },
        trustedProxies: ['x'],
        baseUrl: 'https://a/b',
      }).map((mistake) => mistake.split(':')[0]),
    ).toEqual([
      'prot',
      'limits.tmers',
      'limits.timers',
      'baseUrl',
      'identity.keyFile',
      'chain.directory',
      'chain.rpcUrl',
      'contractFilter[0]',
      'components.x',
      'components.x',
      'database.encryptionKeyFile',
      'outbound.allow[0]',
      'trustedProxies[0]',
    ])
  })

  it('believes that a chain moves by itself, unless the operator says otherwise or it is a local one', () => {
    const isOnDemand = (chain: object): boolean => {
      const result = read({ chain, contractFilter: [] })
      if ('mistakes' in result) throw new Error(result.mistakes.join())
      return result.config.chain.blocksOnDemand
    }
    const evm = { type: 'evm', rpcUrl: 'http://localhost:8545' }
    expect([evm, { ...evm, blocksOnDemand: true }, least.chain].map(isOnDemand)).toEqual([false, true, true])
    expect(mistakesOf({ chain: { ...least.chain, blocksOnDemand: false } })).toEqual([
      'chain.blocksOnDemand: it is not for a chain of type local; leave it out',
    ])
  })

  it.each([
    ['evm', { type: 'evm', rpcUrl: 'http://localhost:8545' }, 'all', /"all" is for local/],
    ['evm', { type: 'evm', rpcUrl: 'http://localhost:8545' }, undefined, /required for a chain of type evm/],
    [
      'partisia',
      { type: 'partisia', readerUrl: 'https://reader.example' },
      `0x${'ab'.repeat(20)}`,
      /registry is a contract/,
    ],
    ['evm', { type: 'evm' }, [], /chain.rpcUrl: required/],
    ['evm', { type: 'evm', rpcUrl: 'http://localhost:8545', confirmations: -1 }, 'all', /"all" is for local/],
    ['evm', { type: 'evm', rpcUrl: 'http://localhost:8545', confirmations: -1 }, undefined, /contractFilter: required/],
  ])('knows which filter a chain of type %s can have', (_, chain, contractFilter, why) => {
    expect(mistakesOf({ chain, ...(contractFilter === undefined ? {} : { contractFilter }) }).join()).toMatch(why)
  })
})
