/**
 * The second part of the demo: three engines keep a secret for its owner, even when one is killed and another one
 * returns a wrong share.
 */
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { downloadSecret } from '../../../sdk/client/download.ts'
import { engineClient } from '../../../sdk/client/engine-client.ts'
import { type SecretSharing, sharingStatus } from '../../../sdk/client/secret-sharing.ts'
import { keySigner } from '../../../sdk/client/signers.ts'
import { accountTransactor } from '../../../sdk/client/transactor.ts'
import { prepareUpload, upload } from '../../../sdk/client/upload.ts'
import { evmAddress, parseAddress } from '../../offchain/address.ts'
import { findBuiltDirectory } from '../../toolchain/places.ts'
import { type Connection, connect } from '../chain/connection.ts'
import { deploy } from '../chain/deploy.ts'
import { now, random, sleep } from '../effects.ts'
import { withEngineStore } from './engine-store.ts'
import { type DemoEngine, makeEngine } from './engines.ts'
import type { Narrator } from './narrator.ts'

const SECRET = 'the vault opens at 19:84'
const ID = 7n
const THRESHOLD = 2
const NAMES = ['A', 'B', 'C'] as const
const CONTRACT = 'SecretSharing'

interface Scene {
  readonly engines: readonly [DemoEngine, DemoEngine, DemoEngine]
  readonly owner: SecretSharing
  readonly narrator: Narrator
}

export interface SecretPlay {
  /** The directory with the files of the engines. */
  readonly home: string
  /** The port of the first engine; the others use the following ones. */
  readonly port: number
  readonly narrator: Narrator
  /** Registers the function that kills an engine, in case the demo is stopped. */
  readonly registerKill: (kill: () => Promise<void>) => void
  /** Whether the engines keep running afterwards. */
  readonly keepsEngines: boolean
}

/** Plays the second part, and returns the engines. Throws if a step fails; the engines are then stopped. */
export async function playSecret(play: SecretPlay): Promise<readonly DemoEngine[]> {
  const { home, port, narrator, registerKill, keepsEngines } = play
  const engines: DemoEngine[] = []
  let keepsRunning = false
  try {
    narrator.beginPart('Three engines keep a secret')
    const chain = join(home, 'chain')
    for (const [index, name] of NAMES.entries()) {
      const engine = await makeEngine(name, home, chain, port + index)
      engines.push(engine)
      registerKill(() => engine.kill())
    }
    await Promise.all(engines.map((engine) => engine.start()))
    const [first, second, third] = engines
    if (first === undefined || second === undefined || third === undefined) return []
    const scene = {
      engines: [first, second, third] as const,
      narrator,
      owner: await deploySharing(engines, chain, narrator),
    }
    await shareSecret(scene)
    await loseAnEngine(scene)
    await findTheLiar(scene)
    keepsRunning = keepsEngines
  } finally {
    if (!keepsRunning) await Promise.all(engines.map((engine) => engine.kill()))
  }
  return engines
}

async function deploySharing(
  engines: readonly DemoEngine[],
  chain: string,
  narrator: Narrator,
): Promise<SecretSharing> {
  narrator.tellStep({
    who: 'Three operators',
    what: 'each started an engine',
    means:
      'Three processes, each with a key and a database of its own. The chain that they watch is a directory here; it could be any EVM chain.',
  })
  narrator.addLine('engines', engines.map(({ name, url }) => `${name} ${url}`).join(', '))
  const connection = await connect({ dir: chain }, { createsChain: true })
  const { address } = await deploy(connection, CONTRACT, {
    engine: engines.map((engine) => `${engine.address}=${engine.url}`),
    component: join(findBuiltDirectory(), 'components', 'secret-sharing.js'),
    'component-uri': '',
    args: '[]',
  })
  narrator.tellStep({
    who: 'The owner of a secret',
    what: `deployed the contract ${CONTRACT}`,
    means:
      'It lists the three engines, and the component that they are to run. Each engine finds itself in the list, fetches the component by its digest, and serves it from now on.',
  })
  narrator.addLine('contract', address)
  return createOwner(connection, address)
}

function createOwner({ chain, readAccountKey }: Connection, contract: string): SecretSharing {
  const client = engineClient({ chain, contract: parseAddress(contract), fetch, now, random, wait: sleep })
  const transactor = accountTransactor(chain, readAccountKey(), { now, wait: sleep })
  return { client, signer: keySigner(readAccountKey(), 'evm'), transactor }
}

async function shareSecret({ engines, owner, narrator }: Scene): Promise<void> {
  const preparedUpload = await prepareUpload(owner, { secret: Buffer.from(SECRET), threshold: THRESHOLD, id: ID })
  const { complete } = await upload(owner, preparedUpload)
  if (!complete) throw new Error('not every engine took its share; what each said is in its engine.log')
  const contract = evmAddress(owner.client.contract)
  narrator.tellStep({
    who: 'The owner',
    what: 'cut the secret into three shares, and sent one to each engine',
    request: {
      method: 'PUT',
      url: `${engines[0].url}/offchain/${contract}/shares/${ID}`,
      sent: 'a share, with a signature that is good for this engine alone',
    },
    status: 201,
    means: `Any ${THRESHOLD} of them give it back, and one says nothing. The contract has a commitment to each, and each engine told it that it holds its own.`,
  })
}

async function loseAnEngine({ engines, owner, narrator }: Scene): Promise<void> {
  const [, , third] = engines
  await third.kill()
  narrator.tellStep({
    who: `Engine ${third.name}`,
    what: 'was killed (SIGKILL)',
    means: 'Its operator is gone, for all that the owner knows.',
  })
  const { secret } = await downloadSecret(owner, { id: ID })
  requireSecret(secret)
  narrator.tellStep({
    who: 'The owner',
    what: 'asked on the chain, and fetched shares from the others',
    request: { method: 'GET', url: `${engines[0].url}/offchain/${evmAddress(owner.client.contract)}/shares/${ID}` },
    status: 200,
    means: 'The contract opens a window of five minutes; outside of it engines give nothing to anybody.',
  })
  narrator.addLine('recovered', Buffer.from(secret).toString())
}

async function findTheLiar({ engines, owner, narrator }: Scene): Promise<void> {
  const [, second, third] = engines
  await second.kill()
  await corruptShare(second, owner)
  await Promise.all([second.start(), third.start()])
  narrator.tellStep({
    who: `The operator of engine ${second.name}`,
    what: 'changed the share in his own database',
    means: `He has its key, so nobody can keep him from it. Engine ${third.name} is back meanwhile.`,
  })
  const { secret, errors } = await downloadSecret(owner, { id: ID, askAll: true })
  requireSecret(secret)
  const [liar, ...others] = errors
  if (liar?.code !== 'wrong-share' || liar.engine.address !== second.address || others.length > 0)
    throw new Error(
      `engine ${second.name} should have been found out, and nobody else: ${errors.map(({ message }) => message).join('; ')}`,
    )
  narrator.tellStep({
    who: 'The owner',
    what: 'fetched the shares again, and held each against its commitment',
    means: 'Without the commitments, a wrong share would have given a wrong secret, and nobody would have known why.',
  })
  narrator.addLine('recovered', Buffer.from(secret).toString())
  narrator.addLine('wrong share from', `engine ${second.name}, ${liar.engine.endpoint}`)
}

function requireSecret(secret: Uint8Array): void {
  if (Buffer.from(secret).toString() !== SECRET) throw new Error('the engines gave back another secret')
}

/** Corrupts a share in the engine's database, as its operator could. */
async function corruptShare({ directory, address }: DemoEngine, { client }: SecretSharing): Promise<void> {
  const state = await sharingStatus(client, ID)
  const index = state?.engines.findIndex((engine) => engine.address === address) ?? -1
  const commitment = Buffer.from(state?.commitments[index] ?? [])
  await withEngineStore(directory, async (store) => {
    for (const { id, value } of await store.list('component_storage')) {
      const bytes = Buffer.from(value.value, 'base64')
      // The component stores a share after its commitment, at the end of the value.
      const shareBytes = bytes.subarray(bytes.indexOf(commitment) + commitment.length)
      if (!hash('sha256', shareBytes, 'buffer').equals(commitment)) continue
      shareBytes.writeUInt8(shareBytes.readUInt8(0) ^ 1, 0)
      const row = await store.get('component_storage', id)
      const changedValue = { ...value, value: bytes.toString('base64') }
      await store.commit([{ update: 'component_storage', id, version: row?.version ?? 0, value: changedValue }])
      return
    }
    throw new Error('the engine has no share to change')
  })
}
