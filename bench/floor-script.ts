/** Starts the floor of a kind of flow, with answers recorded from the running service. */
import { type KeyObject, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { toBase64url } from '../src/codec/base64url.ts'
import { embedCbor, encodeCbor } from '../src/codec/cbor.ts'
import { signedBytes } from '../src/codec/cose.ts'
import { isObject, type JsonObject, stringMemberOf } from '../src/codec/json.ts'
import { readJws } from '../src/codec/jws.ts'
import { deviceAuthentication } from '../src/credential/mso-mdoc/device-auth.ts'
import { makePrivateJwk, type PrivateJwk } from '../src/keys/private-jwk.ts'
import { algorithms } from '../src/keys/signature.ts'
import { responseEncryptionMetadata } from '../src/verifier/response-encryption.ts'
import { licenceCase } from './cases.ts'
import { type Answer, openConnection } from './connection.ts'
import type { FloorScript } from './floor.ts'
import { stepOn } from './flow.ts'
import type { Kind, MakeFlows } from './kinds.ts'
import { type Running, start } from './processes.ts'
import { readRequest } from './verification-flow.ts'
import type { Workplace } from './workplace.ts'

const REQUEST_OBJECT = 'request-object'

export async function startFloor(kind: Kind, workplace: Workplace, port: number, make: MakeFlows): Promise<Running> {
  const recordedAnswers = await recordAnswers(port, make)
  const responseKey = kind.encrypted ? makePrivateJwk(randomBytes) : undefined
  const request = recordedAnswers.get(REQUEST_OBJECT)
  if (responseKey !== undefined && request !== undefined) {
    recordedAnswers.set(REQUEST_OBJECT, { ...request, body: withResponseKey(request.body, responseKey) })
  }
  const script: FloorScript = {
    signingKey: pem(workplace.privateKeys[kind.service], 'pkcs8'),
    issuerKey: pem(workplace.publicKeys.issuer, 'spki'),
    responseKey,
    deviceSigned:
      kind.floorWork.response?.verify === 'mdoc'
        ? deviceSigned(recordedAnswers.get(REQUEST_OBJECT)?.body ?? '')
        : undefined,
    answers: kind.steps.map(([name, prefix]) => {
      const { type = '', body = '' } = recordedAnswers.get(name) ?? {}
      return { prefix, type, body, work: kind.floorWork[name] ?? {} }
    }),
  }
  const file = (ending: string) => join(workplace.directory, `floor-${kind.name.replaceAll(/\W/g, '-')}.${ending}`)
  writeFileSync(file('json'), JSON.stringify(script), { mode: 0o600 })
  // The floor is this program again, which is one file when it runs.
  const program = fileURLToPath(import.meta.url)
  return start({
    args: [program, 'floor', file('json')],
    directory: workplace.directory,
    logFile: file('log'),
  })
}

async function recordAnswers(port: number, make: MakeFlows): Promise<Map<string, Answer>> {
  const recordedAnswers = new Map<string, Answer>()
  const connection = await openConnection(port)
  const [flow] = await make(1, 'service')
  await flow?.(stepOn(connection, (name, _, answer) => void recordedAnswers.set(name, answer)))
  connection.close()
  return recordedAnswers
}

/** Replaces the key in the request object by one whose private part is known. The floor signs the object anew. */
function withResponseKey(requestObject: string, key: PrivateJwk): string {
  const { payload } = readJws(requestObject)
  const metadata = isObject(payload.client_metadata) ? payload.client_metadata : {}
  const changedPayload: JsonObject = {
    ...payload,
    client_metadata: { ...metadata, ...responseEncryptionMetadata(key) },
  }
  const [header = '', , signature = ''] = requestObject.split('.')
  return [header, toBase64url(Buffer.from(JSON.stringify(changedPayload))), signature].join('.')
}

/** Returns the bytes that the device of an mdoc signs to answer the request. */
function deviceSigned(requestObject: string): string {
  const { binding } = readRequest(readJws(requestObject).payload)
  const docType = stringMemberOf(licenceCase.configuration, 'doctype') ?? ''
  const payload = deviceAuthentication(binding, docType, embedCbor(new Map()))
  const protectedHeader = encodeCbor(new Map([[1, algorithms.ES256.cose[0]]]))
  return Buffer.from(signedBytes(protectedHeader, payload)).toString('base64')
}

function pem(key: KeyObject, type: 'pkcs8' | 'spki'): string {
  return key.export({ type, format: 'pem' }).toString()
}
