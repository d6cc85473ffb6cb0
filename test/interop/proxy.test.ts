/**
 * nginx with the configuration of docs/how-to/production.md in front of an issuer: paths, addresses and streams pass as
 * the page says. Where there is no nginx, the tests say so and are left out.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { snippetWith } from '../support/documents.ts'
import { freePort } from '../support/free-port.ts'
import { askProxy, NGINX, startNginx } from '../support/nginx.ts'
import { createIssuerMemory, findLostOfIssuer, servicesAt, useIssuer } from '../support/remembering-client.ts'
import { endService, type Running, serviceDirectory, start } from '../support/service-process.ts'
import { API_KEY, ISSUER_URL } from '../support/services.ts'
import { configuration, dataset, declare } from '../support/wire.ts'

const PAGE = 'docs/how-to/production.md'

/** Returns the first bytes of an answer that does not end. */
function firstPart(port: number, path: string, headers: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const asking = request({ port, path, headers, rejectUnauthorized: false }, (response) => {
      response.once('data', (part: Buffer) => {
        resolve(part.toString())
        asking.destroy()
      })
    })
    asking.on('error', reject).end()
  })
}

function startProxy(servicePort: number): Promise<number> {
  return startNginx(serverOfPage().replace('127.0.0.1:8079', `127.0.0.1:${servicePort}`), '/health/live')
}

/** Returns the server block of the page, without the files of its certificate. */
function serverOfPage(): string {
  return snippetWith(PAGE, 'proxy_pass').replace(/ssl_certificate(_key)? .*;/g, '')
}

/** Starts nginx with the two processes of the page, and gives a port where it takes requests without TLS. */
async function startProxyOfTwo([first = 0, second = 0]: readonly number[]): Promise<number> {
  const plainPort = await freePort()
  const upstream = snippetWith(PAGE, 'upstream issuer').replace('8079', String(first)).replace('8080', String(second))
  const server = serverOfPage()
    .replace('http://127.0.0.1:8079', 'http://issuer')
    .replace('listen 443 ssl;', `listen 443 ssl; listen 127.0.0.1:${plainPort};`)
  await startNginx(`${upstream}\n${server}`, '/health/live')
  return plainPort
}

async function ask(...words: Parameters<typeof askProxy>) {
  const { status, body } = await askProxy(...words)
  return { status, body: body.toString() }
}

if (NGINX === undefined) {
  it('left out, since no nginx is on this machine', () => {
    process.stderr.write('NO NGINX, NO TEST OF A PROXY: install one, such as by apt-get install nginx-light\n')
    expect(process.env.VOUCHSAFE_TEST_PROXY).not.toBe('required')
  })
} else {
  it('an issuer behind nginx serves its paths and streams, and counts callers by their own address', async () => {
    const rateLimits = { failedApiKeysPerMinute: 2, trustedProxies: ['127.0.0.1'] }
    const service = await start('issuer', await serviceDirectory('issuer', { rateLimits }))
    onTestFinished(() => void service.child.kill('SIGKILL'))
    const port = await startProxy(service.port)

    const json = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
    const id = (await ask(port, '/credential-configuration/create', json, JSON.stringify(configuration))).body
    const body = JSON.stringify({ credential_configurations: [id], credential_dataset: dataset })
    const session = JSON.parse((await ask(port, '/issuance/oid4vci/new-session', json, body)).body) as {
      readonly session_id: string
    }
    const metadata = await ask(port, `/.well-known/openid-credential-issuer/${session.session_id}`)
    expect([metadata.status, Object.keys(JSON.parse(metadata.body) as object)[0]]).toEqual([200, 'credential_issuer'])
    const stream = await firstPart(port, `/issuance/oid4vci/events/${session.session_id}`, json)
    expect(stream).toMatch(/^retry: \d+\nevent: status\n/)

    // A caller that names another address each time is counted by the one that it comes from.
    const statuses: number[] = []
    for (let count = 0; count < 4; count++) {
      const headers = { authorization: 'Bearer wrong', 'x-forwarded-for': `192.0.2.${count}` }
      statuses.push((await ask(port, '/issuance/oid4vci/status/none', headers)).status)
    }
    expect(statuses).toEqual([401, 401, 429, 429])
  })

  it('two issuers behind nginx lose no request when one is restarted after the other', async () => {
    const directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL, stopping: { graceSeconds: 1 } })
    const ports = [await freePort(), await freePort()]
    const settings = JSON.parse(readFileSync(join(directory, 'conf/server.json'), 'utf8')) as object
    const startAt = (port: number): Promise<Running> => {
      writeFileSync(join(directory, `conf/${port}.json`), JSON.stringify({ ...settings, port }))
      return start('issuer', directory, ['--config', `conf/${port}.json`])
    }
    const processes = new Map<number, Running>()
    onTestFinished(() => {
      for (const { child } of processes.values()) child.kill('SIGKILL')
    })
    for (const port of ports) processes.set(port, await startAt(port))

    const proxyPort = await startProxyOfTwo(ports)
    const services = servicesAt(() => `http://127.0.0.1:${proxyPort}`)
    const [configurationId, memory] = [await declare(services), createIssuerMemory()]
    let isOver = false
    const clients = Array.from({ length: 6 }, async () => {
      while (!isOver) await useIssuer(services, configurationId, memory)
    })
    for (const [port, running] of [...processes]) {
      expect((await endService(running, 'SIGTERM')).status).toBe(0)
      processes.set(port, await startAt(port))
      const before = memory.issued.size
      await expect.poll(() => memory.issued.size).toBeGreaterThan(before + 10)
    }
    isOver = true
    await Promise.all(clients)
    expect(await findLostOfIssuer(services, memory)).toEqual([])
  })
}
