/** nginx of this machine, with the configuration that a page of the documents has. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { temporaryDirectory } from './command.ts'
import { freePort } from './free-port.ts'

export const NGINX = ['/usr/sbin/nginx', 'nginx'].find((path) => spawnSync(path, ['-v']).status === 0)

export interface ProxyAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

/** Sends a request to the proxy, whose certificate is of a test. */
export function askProxy(
  port: number,
  path: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<ProxyAnswer> {
  return new Promise((resolve, reject) => {
    const options = { port, path, headers, rejectUnauthorized: false, method: body === undefined ? 'GET' : 'POST' }
    const asking = request(options, (response) => {
      const status = response.statusCode ?? 0
      response
        .toArray()
        .then((parts) => resolve({ status, headers: response.headers, body: Buffer.concat(parts as Buffer[]) }), reject)
    })
    asking.on('error', reject).end(body)
  })
}

/** Starts nginx for a test with blocks of `http` that listen on port 443, and gives the port that it has instead. */
export async function startNginx(blocks: string, readyPath: string): Promise<number> {
  const [port, directory] = [await freePort(), temporaryDirectory()]
  const certificate = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'key.pem', '-out', 'certificate.pem']
  execFileSync('openssl', [...certificate, '-subj', '/CN=issuer.example'], { cwd: directory, stdio: 'ignore' })
  const server = blocks.replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
  for (const name of ['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']) mkdirSync(join(directory, name))
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(directory, name.replace('client_', ''))};`,
  )
  const pem = (name: string) => join(directory, name)
  const tls = `ssl_certificate ${pem('certificate.pem')}; ssl_certificate_key ${pem('key.pem')};`
  const text = `daemon off; pid ${pem('pid')}; error_log ${pem('errors')}; events {} http { access_log off; ${tls} ${places.join(' ')} ${server} }`
  writeFileSync(pem('nginx.conf'), text)
  const child = spawn(NGINX ?? '', ['-c', pem('nginx.conf'), '-p', directory], { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGTERM'))
  const statusNow = () =>
    askProxy(port, readyPath).then(
      ({ status }) => status,
      () => 0,
    )
  await expect.poll(statusNow).toBe(200)
  return port
}
