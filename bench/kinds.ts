/** The two kinds of flow: which service serves them, how flows of a kind are made, and the floor for them. */
import type { KeyObject } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Answer, openConnection } from './connection.ts'
import type { FloorAnswer, FloorScript } from './floor.ts'
import { type Flow, stepOn } from './flow.ts'
import { makeHolders } from './holders.ts'
import { declareConfiguration, ISSUANCE_STEPS, issuanceFlow } from './issuance-flow.ts'
import { type Running, start } from './processes.ts'
import { createQuery, issueTo, VERIFICATION_STEPS, verificationFlow } from './verification-flow.ts'
import type { ServiceName, Workplace } from './workplace.ts'

/** Flows with a fresh holder key each. `floor` says that the answers name another holder. */
export type MakeFlows = (count: number, of: 'service' | 'floor') => Promise<Flow[]>

export interface Kind {
  readonly name: 'issuance' | 'verification'
  readonly service: ServiceName
  readonly steps: readonly (readonly [name: string, prefix: string])[]
  readonly floorWork: Readonly<Record<string, FloorAnswer['work']>>
  /** Declares at the running service what the flows are about. */
  prepare(workplace: Workplace, port: number): Promise<MakeFlows>
}

export const issuance: Kind = {
  name: 'issuance',
  service: 'issuer',
  steps: ISSUANCE_STEPS,
  floorWork: { token: 'sign', credential: 'verify-proof-and-sign' },
  async prepare({ publicKeys }, port) {
    const configurationId = await declareConfiguration(port)
    return async (count, of) => {
      const target = { configurationId, issuerKey: publicKeys.issuer, bindsHolder: of === 'service' }
      return (await makeHolders(count)).map((holder) => issuanceFlow(target, holder))
    }
  },
}

export const verification: Kind = {
  name: 'verification',
  service: 'verifier',
  steps: VERIFICATION_STEPS,
  floorWork: { 'request-object': 'sign', response: 'verify-presentation' },
  async prepare({ publicKeys, signers }, port) {
    const queryId = await createQuery(port)
    return async (count, of) => {
      const target = { queryId, verifierKey: publicKeys.verifier, reportsHolder: of === 'service' }
      const held = (await makeHolders(count)).map((holder) => issueTo(holder, signers.issuer))
      return (await Promise.all(held)).map((each) => verificationFlow(target, each))
    }
  },
}

/** Starts the floor with answers recorded from one flow of the running service. */
export async function startFloor(kind: Kind, workplace: Workplace, port: number, make: MakeFlows): Promise<Running> {
  const recorded = new Map<string, Answer>()
  const connection = await openConnection(port)
  const [flow] = await make(1, 'service')
  await flow?.(stepOn(connection, (name, _, answer) => void recorded.set(name, answer)))
  connection.close()
  const script: FloorScript = {
    signingKey: pem(workplace.privateKeys[kind.service], 'pkcs8'),
    issuerKey: pem(workplace.publicKeys.issuer, 'spki'),
    answers: kind.steps.map(([name, prefix]) => {
      const { type = '', body = '' } = recorded.get(name) ?? {}
      return { prefix, type, body, work: kind.floorWork[name] }
    }),
  }
  const scriptFile = join(workplace.directory, `floor-${kind.name}.json`)
  writeFileSync(scriptFile, JSON.stringify(script), { mode: 0o600 })
  // This program again: it is one file when it runs.
  const program = fileURLToPath(import.meta.url)
  return start({
    args: [program, 'floor', scriptFile],
    directory: workplace.directory,
    logFile: join(workplace.directory, `floor-${kind.name}.log`),
  })
}

function pem(key: KeyObject, type: 'pkcs8' | 'spki'): string {
  return key.export({ type, format: 'pem' }).toString()
}
