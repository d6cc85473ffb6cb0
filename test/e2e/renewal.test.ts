/** SIGHUP: certificates and trust anchors are read again, and nobody notices but those whom it is about. */
import { createPrivateKey, createPublicKey, randomBytes, type X509Certificate } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { afterEach, expect, it } from 'vitest'
import { makeSelfSignedCertificate, toPem } from '../../src/keys/make-certificate.ts'
import type { VerificationReport } from '../../src/verifier/verification.ts'
import { startCommand } from '../support/command.ts'
import { type Running, serviceDirectory, start } from '../support/service-process.ts'
import { API_KEY, makeKey, pemOf, startServices } from '../support/services.ts'
import {
  configuration,
  dataset,
  dcqlQuery,
  GRANT,
  holderSigner,
  issueCredential,
  presentationOf,
} from '../support/wire.ts'

const running: Running[] = []
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGKILL')
    await ended
  }
})

async function started(service: 'issuer' | 'verifier', directory: string): Promise<Running> {
  const made = await start(service, directory)
  running.push(made)
  return made
}

const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }

async function post(url: string, body: unknown): Promise<Response> {
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
}

/** Sends the signal, and gives what the service says about it. */
function hangUp({ child }: Running): Promise<Record<string, unknown>> {
  const said = new Promise<Record<string, unknown>>((resolve) => {
    const listen = (chunk: string): void => {
      const line = chunk.split('\n').find((each) => /"event":"renew/.test(each))
      if (line === undefined) return
      child.stdout?.off('data', listen)
      resolve(JSON.parse(line) as Record<string, unknown>)
    }
    child.stdout?.on('data', listen)
  })
  child.kill('SIGHUP')
  return said
}

/** Writes another certificate for the key that is there. */
function renewCertificate(
  directory: string,
  service: 'issuer' | 'verifier',
  name: string,
  notAfter = new Date(Date.now() + 86_400_000),
): void {
  const privateKey = createPrivateKey(readFileSync(join(directory, `${service}.key`), 'utf8'))
  const certificate = makeSelfSignedCertificate({
    privateKey,
    publicKey: createPublicKey(privateKey),
    commonName: name,
    uris: ['http://127.0.0.1'],
    notBefore: new Date(Date.now() - 60_000),
    notAfter,
    serial: randomBytes(16),
  })
  writeFileSync(join(directory, `${service}.pem`), toPem(certificate))
}

/** Renews the certificate by one that ends soon, but not before a slow machine has read it. */
async function renewForSeconds(
  directory: string,
  service: 'issuer' | 'verifier',
  child: Running['child'],
): Promise<void> {
  for (let seconds = 2; ; seconds *= 2) {
    renewCertificate(directory, service, 'short', new Date(Date.now() + seconds * 1000))
    if ((await hangUp({ child } as Running)).event === 'renewed') return
  }
}

it('a verifier trusts an issuer from then on, without a request of others being dropped', async () => {
  const services = await startServices()
  const holder = await holderSigner()
  const credential = await issueCredential(services, holder, { ...configuration, revocable: false })
  const binding = { client_id: 'us', nonce: 'nonce', state: '', response_uri: '' }
  const text = await presentationOf(credential, holder, binding, { now: new Date() })
  await services.close()
  const directory = await serviceDirectory('verifier')
  const verifier = await started('verifier', directory)
  const isTrusted = async (): Promise<string | undefined> => {
    const body = { dcql_query: dcqlQuery, vp_token: { card: [text] }, nonce: 'nonce', audience: 'us' }
    const report = (await (
      await post(`${verifier.url}/presentation/oid4vp/static-presentation`, body)
    ).json()) as VerificationReport
    return report.credentials.card?.[0]?.checks.find(({ id }) => id === 'issuer.trusted')?.outcome
  }
  expect(await isTrusted()).toBe('failed')

  const slow = connect(verifier.port, '127.0.0.1')
  const query = JSON.stringify({ dcql_query: dcqlQuery })
  const answer = new Promise<string>((resolve) => {
    let all = ''
    slow.setEncoding('utf8').on('data', (part: string) => {
      all += part
      if (all.includes('100 Continue')) slow.emit('begun')
      if (/HTTP\/1\.1 [2-5]/.test(all)) resolve(all)
    })
  })
  const begun = new Promise((resolve) => slow.once('begun', resolve))
  const head = `POST /verification-query/create HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${API_KEY}\r\n`
  slow.write(`${head}Expect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: ${query.length}\r\n\r\n`)
  await begun
  slow.write(query.slice(0, 10))

  writeFileSync(join(directory, 'anchors', 'issuer.pem'), services.files.get('issuer.pem') ?? '')
  expect(await hangUp(verifier)).toMatchObject({ event: 'renewed' })
  expect(await isTrusted()).toBe('passed')
  slow.write(query.slice(10))
  expect(await answer).toMatch(/HTTP\/1\.1 201 /)
  slow.destroy()

  writeFileSync(join(directory, 'anchors', 'broken.pem'), 'not a certificate')
  expect(await hangUp(verifier)).toMatchObject({
    event: 'renewal_failed',
    mistakes: ['issuerTrustAnchors: broken.pem: it holds no PEM certificate'],
  })
  expect(await isTrusted()).toBe('passed')

  renameSync(join(directory, 'anchors'), join(directory, 'elsewhere'))
  mkdirSync(join(directory, 'anchors'))
  expect(await hangUp(verifier)).toMatchObject({
    event: 'renewal_failed',
    mistakes: [expect.stringMatching(/^issuerTrustAnchors: there is no certificate in anchors /)],
  })
  expect(await isTrusted()).toBe('passed')
  const again = await startCommand(['verifier'], { cwd: directory }).ended
  expect(again.status).toBe(2)
  expect(again.stderr + again.stdout).toMatch(/issuerTrustAnchors: there is no certificate in anchors /)
})

it('a verifier has a new name in new sessions, and its old one in those that it had begun', async () => {
  const directory = await serviceDirectory('verifier', { registrationCertificateFile: 'registration.jwt' })
  const register = (subject: string): string => {
    const [header = '', payload = ''] = [{ alg: 'ES256' }, { sub: subject }].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    )
    writeFileSync(join(directory, 'registration.jwt'), `${header}.${payload}.AA`)
    return `${header}.${payload}.AA`
  }
  const registered = register('first')
  const verifier = await started('verifier', directory)
  const id = await (await post(`${verifier.url}/verification-query/create`, { dcql_query: dcqlQuery })).text()
  const session = async () => {
    const response = await post(`${verifier.url}/presentation/oid4vp/new-session`, { verification_query_id: id })
    return (await response.json()) as { readonly session_id: string; readonly request_uri: string }
  }
  const request = async (sessionId: string) => {
    const response = await fetch(`${verifier.url}/presentation/oid4vp/authorization-request/${sessionId}`)
    expect(response.status).toBe(200)
    const [header = '', payload = ''] = (await response.text()).split('.')
    const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>
    const { client_id: clientId, verifier_info: verifierInfo } = read(payload)
    return { x5c: read(header).x5c, clientId, verifierInfo }
  }
  const before = await session()
  const old = await request(before.session_id)
  expect(old.verifierInfo).toEqual([{ format: 'registration_cert', data: registered }])
  renewCertificate(directory, 'verifier', 'renewed')
  const registeredAnew = register('second')
  expect(await hangUp(verifier)).toMatchObject({ event: 'renewed' })
  const verifierInfo = [{ format: 'registration_cert', data: registeredAnew }]
  expect(await request(before.session_id)).toEqual({ ...old, verifierInfo })
  const renewed = await request((await session()).session_id)
  expect(renewed.clientId).not.toBe(old.clientId)
  expect(renewed.x5c).not.toEqual(old.x5c)
})

it('an issuer signs with its new certificate and shows it in TLS; another key it takes with a restart only', async () => {
  const tls = { keyFile: 'issuer.key', certificateFiles: ['issuer.pem'] }
  const directory = await serviceDirectory('issuer', { tls })
  const issuer = await started('issuer', directory)
  const shown = async (): Promise<string | undefined> => {
    const socket: TLSSocket = connectTls({ port: issuer.port, host: '127.0.0.1', rejectUnauthorized: false })
    await new Promise((resolve) => socket.once('secureConnect', resolve))
    const certificate: X509Certificate | undefined = socket.getPeerX509Certificate()
    socket.destroy()
    return certificate?.subject
  }
  expect(await shown()).toBe('CN=issuer')
  renewCertificate(directory, 'issuer', 'renewed')
  expect(await hangUp(issuer)).toMatchObject({ event: 'renewed' })
  expect(await shown()).toBe('CN=renewed')
  writeFileSync(join(directory, 'issuer.key'), pemOf(await makeKey()))
  renewCertificate(directory, 'issuer', 'another key')
  expect(await hangUp(issuer)).toMatchObject({
    event: 'renewal_failed',
    mistakes: ['signing.keyFile: the key has changed since the start; restart the service to use it'],
  })
  expect(await shown()).toBe('CN=renewed')
})

/** Returns the function that sends a token request without its transaction code, and returns the status. */
async function createTokenAttempt(url: string): Promise<() => Promise<number>> {
  const id = await (await post(`${url}/credential-configuration/create`, configuration)).text()
  const session = { credential_dataset: dataset, credential_configurations: [id], tx_code: {} }
  const started = await (await post(`${url}/issuance/oid4vci/new-session`, session)).json()
  const { session_id: sessionId } = started as { readonly session_id: string }
  const offer = await (await fetch(`${url}/issuance/oid4vci/credential-offer/${sessionId}`)).json()
  const { grants } = offer as { readonly grants: Readonly<Record<string, Readonly<Record<string, string>>>> }
  const body = new URLSearchParams({
    grant_type: GRANT,
    'pre-authorized_code': grants[GRANT]?.['pre-authorized_code'] ?? '',
  })
  return async () => (await fetch(`${url}/auth/token-endpoint/${sessionId}`, { method: 'POST', body })).status
}

it.each(['issuer', 'verifier'] as const)('%s whose certificate has ended signs again', async (service) => {
  const directory = await serviceDirectory(service)
  const { url, child } = await started(service, directory)
  const startUnknown = async () =>
    (await post(`${url}/presentation/oid4vp/new-session`, { verification_query_id: 'unknown' })).status
  const [attempt, expected] =
    service === 'issuer' ? ([await createTokenAttempt(url), 400] as const) : ([startUnknown, 404] as const)
  expect(await attempt()).toBe(expected)
  await renewForSeconds(directory, service, child)
  await expect.poll(attempt, { interval: 200 }).toBe(503)
  expect((await fetch(`${url}/health/ready`)).status).toBe(200)
  renewCertificate(directory, service, 'long')
  expect(await hangUp({ child } as Running)).toMatchObject({ event: 'renewed' })
  expect(await attempt()).toBe(expected)
})
