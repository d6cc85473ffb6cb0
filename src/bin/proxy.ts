/** The proxy that the environment names, which Node 24 asks where NODE_USE_ENV_PROXY says so, and what is not asked through it. */
import { lanAddress } from './network.ts'

/** Keeps calls to this machine from the proxy, whatever NO_PROXY has: no proxy can reach it, and the commands call services on it. */
export function bypassProxy(environment = process.env, lan = lanAddress): void {
  if (!Object.keys(environment).some((name) => /^https?_proxy$/i.test(name))) return
  const named = environment.no_proxy ?? environment.NO_PROXY ?? ''
  const hosts = [named, 'localhost', '127.0.0.1', '::1', '[::1]', lan() ?? ''].filter((host) => host !== '').join(',')
  Object.assign(environment, { no_proxy: hosts, NO_PROXY: hosts })
}
