/**
 * The world of the search for costly requests: both services and an engine in this process, and the requests that are
 * made to them.
 */
import type { LightMyRequestResponse } from 'fastify'
import { toBase64url } from '../../src/codec/base64url.ts'
import type { Json } from '../../src/codec/json.ts'
import { authenticate } from '../../src/offchain/authentication/authenticate.ts'
import { loadRecovery } from '../../src/offchain/authentication/key-recovery.ts'
import { INTERACTION_URL } from '../support/code-flow.ts'
import { CONTRACT, ENGINE, serving, type TestEngine } from '../support/engine.ts'
import { makeNetwork } from '../support/foreign-status.ts'
import { startWorld, type World } from '../support/forge.ts'
import { mdocConfiguration, mdocDataset } from '../support/mdoc.ts'
import { profiles, usualProfile } from '../support/profiles.ts'
import { makeProvider, trustingProvider } from '../support/wallet-attestation.ts'
import { configuration, declare, issueCredential } from '../support/wire.ts'
import { type SignInWorlds, startSignInWorlds } from './cost-sign-in.ts'
import { type Growth, writeGrown } from './growth.ts'

/** The provider of wallets whose attestations the issuer takes. */
export const walletProvider = makeProvider()

export interface CostRequest {
  readonly service: 'issuer' | 'verifier' | 'engine' | 'signIn' | 'presenting'
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** The bytes that another server answers on the way, which count as sent. */
  readonly answeredBytes?: number
}

/** An endpoint that needs no API key: where its request can grow, and the request in which it has. */
export interface CostTarget {
  readonly name: string
  readonly places: readonly string[]
  /** The bytes that may grow in it: more would be refused unread. */
  readonly bytes: number
  /** Tells whether the request is refused also where nothing has grown in it. */
  readonly isRefused?: true
  readonly make: (world: CostWorld, growths: readonly Growth[]) => Promise<CostRequest>
}

export interface CostWorld {
  readonly world: World
  readonly engine: TestEngine
  readonly signIn: SignInWorlds
  /** A credential of each format in the hands of the holder, by format. */
  readonly credentials: ReadonlyMap<string, string>
  /** The id of a configuration whose proofs may be ten. */
  readonly configurationId: string
  /** The ids of the queries of the verifier, by name. */
  readonly queries: Map<string, string>
  /** The answers of other servers, by address. */
  readonly network: ReturnType<typeof makeNetwork>
  readonly send: (request: CostRequest) => Promise<LightMyRequestResponse>
  readonly close: () => Promise<void>
  /** The number of requests that were measured. */
  requests: number
}

export async function startCostWorld(): Promise<CostWorld> {
  const network = makeNetwork()
  const attested = trustingProvider(await walletProvider, 'optional')
  const issuer = { authentication: { interactionUrl: INTERACTION_URL }, ...attested.issuer }
  const world = await startWorld({
    outbound: network.outbound,
    issuer,
    files: attested.files ?? {},
    verifier: { status: { onUnreachable: 'accept' } },
  })
  const { services, holder } = world
  const engine = await authenticatingEngine()
  const credentials = new Map([[usualProfile.format, world.credential]])
  for (const { format, configuration: posted } of profiles.slice(1)) {
    credentials.set(format, await issueCredential(services, holder, posted))
  }
  credentials.set('mso_mdoc', await issueCredential(services, holder, mdocConfiguration, mdocDataset))
  const configurationId = await declare(services, { ...configuration, batch_size: 10 })
  const signIn = await startSignInWorlds()
  const apps = {
    ...{ issuer: services.issuer, verifier: services.verifier, engine: engine.engine.app },
    ...{ signIn: signIn.signingIn.services.issuer, presenting: signIn.presenting.services.issuer },
  }
  return {
    ...{ world, engine, signIn, credentials, configurationId, network, queries: new Map(), requests: 0 },
    send: ({ service, method, path, headers, body }) => {
      const options = { method: method as 'GET', url: path, headers }
      return apps[service].inject({ ...options, ...(body === undefined ? {} : { payload: body }) })
    },
    close: async () => {
      await Promise.all([services.close(), signIn.signingIn.services.close(), signIn.presenting.close()])
      await engine.engine.app.close()
      await engine.store.close()
    },
  }
}

/** Starts an engine whose contract asks of each request who signed it, as components do. */
function authenticatingEngine(): Promise<TestEngine> {
  const chain = { id: '31337', addresses: 'evm' } as const
  return serving({
    http: async ({ call: { hook }, call }) => {
      if (hook.kind !== 'http') throw new Error('no request')
      const recipient = { engine: ENGINE, contract: CONTRACT, chain }
      const input = { ...recipient, request: hook.request, now: new Date(call.now), addresses: [ENGINE] }
      return { status: authenticate(input, await loadRecovery()) === undefined ? 401 : 200 }
    },
  })
}

/** Makes a JWS whose header and payload may hold what has grown. */
export async function grownJws(
  header: Json,
  payload: Json,
  sign: (data: Uint8Array) => Promise<Uint8Array>,
): Promise<string> {
  const text = [header, payload].map((part) => toBase64url(writeGrown(part))).join('.')
  return `${text}.${toBase64url(await sign(Buffer.from(text)))}`
}
