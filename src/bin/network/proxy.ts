/** The proxy of the environment, which Node 24 uses with NODE_USE_ENV_PROXY. */
import { findLanAddress } from './network.ts'

/** Adds this machine to NO_PROXY, since commands call services on it, and a proxy cannot reach it. */
export function bypassProxy(environment = process.env, lan = findLanAddress): void {
  if (!Object.keys(environment).some((name) => /^https?_proxy$/i.test(name))) return
  const exceptions = environment.no_proxy ?? environment.NO_PROXY ?? ''
  const hosts = [exceptions, 'localhost', '127.0.0.1', '::1', '[::1]', lan() ?? '']
    .filter((host) => host !== '')
    .join(',')
  Object.assign(environment, { no_proxy: hosts, NO_PROXY: hosts })
}
