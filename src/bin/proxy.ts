/** The proxy of the environment, which Node 24 uses with NODE_USE_ENV_PROXY, and its exceptions. */
import { findLanAddress } from './network.ts'

/** Adds this machine to the exceptions in NO_PROXY: no proxy can reach it, and the commands call services on it. */
export function bypassProxy(environment = process.env, lan = findLanAddress): void {
  if (!Object.keys(environment).some((name) => /^https?_proxy$/i.test(name))) return
  const exceptions = environment.no_proxy ?? environment.NO_PROXY ?? ''
  const hosts = [exceptions, 'localhost', '127.0.0.1', '::1', '[::1]', lan() ?? '']
    .filter((host) => host !== '')
    .join(',')
  Object.assign(environment, { no_proxy: hosts, NO_PROXY: hosts })
}
