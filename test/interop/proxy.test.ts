/**
 * nginx with the configuration of docs/how-to/production.md in front of an issuer: paths, addresses and streams pass as
 * the page says. Where there is no nginx, the tests say so and are left out.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { temporaryDirectory } from '../support/command.ts'
import { snippetWith } from '../support/documents.ts'
import { serviceDirectory, start } from '../support/service-process.ts'
import { API_KEY } from '../support/services.ts'
import { configuration, dataset } from '../support/wire.ts'

const NGINX = ['/usr/sbin/nginx', 'nginx'].find((path) => spawnSync(path, ['-v']).status === 0)

interface Answer {
  readonly status: number
  readonly body: string
}

/** A request to the proxy, whose certificate is of a test. */
function ask(port: number, path: string, headers: Record<string, string> = {}, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { port, path, headers, rejectUnauthorized: false, method: body === undefined ? 'GET' : 'POST' }
    const asking = request(options, (response) => {
      const status = response.statusCode ?? 0
      response.toArray().then((parts) => resolve({ status, body: Buffer.concat(parts as Buffer[]).toString() }), reject)
    })
    asking.on('error', reject).end(body)
  })
}

/** The first bytes of an answer that does not end. */
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

async function startProxy(servicePort: number): Promise<number> {
  const [port, directory] = [await freePort(), temporaryDirectory()]
  const certificate = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'key.pem', '-out', 'certificate.pem']
  execFileSync('openssl', [...certificate, '-subj', '/CN=issuer.example'], { cwd: directory, stdio: 'ignore' })
  const server = snippetWith('docs/how-to/production.md', 'proxy_pass')
    .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
    .replace('/etc/ssl/issuer.example.pem', join(directory, 'certificate.pem'))
    .replace('/etc/ssl/private/issuer.example.key', join(directory, 'key.pem'))
    .replace('127.0.0.1:8079', `127.0.0.1:${servicePort}`)
  for (const name of ['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']) mkdirSync(join(directory, name))
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(directory, name.replace('client_', ''))};`,
  )
  const files = `access_log off; ${places.join(' ')}`
  const text = `daemon off; pid ${join(directory, 'pid')}; error_log ${join(directory, 'errors')}; events {} http { ${files} ${server} }`
  writeFileSync(join(directory, 'nginx.conf'), text)
  const child = spawn(NGINX ?? '', ['-c', join(directory, 'nginx.conf'), '-p', directory], { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGTERM'))
  await expect
    .poll(() =>
      ask(port, '/health/live').then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(200)
  return port
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
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
