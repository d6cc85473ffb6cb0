/**
 * nginx with the configuration of docs/how-to/production.md in front of an issuer: paths, addresses and streams pass as
 * the page says. Where there is no nginx, the tests say so and are left out.
 */
import { request } from 'node:https'
import { expect, it, onTestFinished } from 'vitest'
import { snippetWith } from '../support/documents.ts'
import { askProxy, NGINX, startNginx } from '../support/nginx.ts'
import { serviceDirectory, start } from '../support/service-process.ts'
import { API_KEY } from '../support/services.ts'
import { configuration, dataset } from '../support/wire.ts'

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
  const server = snippetWith('docs/how-to/production.md', 'proxy_pass')
    .replace(/ssl_certificate(_key)? .*;/g, '')
    .replace('127.0.0.1:8079', `127.0.0.1:${servicePort}`)
  return startNginx(server, '/health/live')
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
}
