// The health check of an image: exits with 0 when the service of the container is ready, else with 1. Host, port and TLS are those of
// the service: from its variables, else from conf/server.json, else the port is the argument.
import { readFileSync } from 'node:fs'
import { request as requestPlain } from 'node:http'
import { request as requestEncrypted } from 'node:https'

/** Returns the settings of the configuration file; a file that cannot be read has none. */
function readFileSettings() {
  try {
    return JSON.parse(readFileSync('conf/server.json', 'utf8'))
  } catch {
    return {}
  }
}

/** Returns what the file of a variable or else the variable says; an empty variable says nothing. */
function readVariable(name) {
  const { [name]: value, [`${name}_FILE`]: file } = process.env
  return (file && readFileSync(file, 'utf8').trim()) || value || undefined
}

const [, , usualPort] = process.argv
const settings = readFileSettings()
const host = readVariable('VOUCHSAFE_HOST') ?? settings.host ?? '0.0.0.0'
const isEncrypted =
  settings.tls !== undefined ||
  Object.entries(process.env).some(([name, value]) => /^VOUCHSAFE_TLS/.test(name) && value)
const options = {
  host: { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host,
  port: readVariable('VOUCHSAFE_PORT') ?? settings.port ?? usualPort,
  path: '/health/ready',
  signal: AbortSignal.timeout(4000),
  // The certificate is for the name by which others reach the service, which is not asked about here.
  rejectUnauthorized: false,
}

const status = await new Promise((resolve) => {
  const request = (isEncrypted ? requestEncrypted : requestPlain)(options, (answer) => resolve(answer.statusCode))
  request.on('error', ({ code, message }) => resolve(code ?? message)).end()
})
if (status !== 200) process.stderr.write(`not ready: ${status}\n`)
process.exit(status === 200 ? 0 : 1)
