/** Opens an address in the browser of whoever sits at this machine, where there is one. */
import { spawn } from 'node:child_process'

/** The program that opens an address, and its arguments before the address. */
export type BrowserCommand = readonly [program: string, ...args: string[]]

interface Surroundings {
  readonly platform: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdout: { readonly isTTY?: boolean }
}

/** The longest time for which a program may take to show that it cannot be started, or cannot open an address. */
export const FAILS_WITHIN_MS = 1000

/** Returns the command for a browser; undefined where nobody would see one: no display, no terminal, or CI. */
export function browserCommand({ platform, env, stdout }: Surroundings): BrowserCommand | undefined {
  if (stdout.isTTY !== true || env.CI || env.BROWSER === 'none') return undefined
  const isRemote = Boolean(env.SSH_CONNECTION)
  if (platform === 'darwin') return isRemote ? undefined : ['open']
  if (platform === 'win32') return isRemote ? undefined : ['rundll32', 'url.dll,FileProtocolHandler']
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open'] : undefined
}

/** Starts the command. Resolves with whether it seems to work: it still runs after a second, or ended well. */
export function openBrowser([program, ...args]: BrowserCommand, address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, [...args, address], { detached: true, stdio: 'ignore' })
    const timer = setTimeout(() => resolve(true), FAILS_WITHIN_MS)
    child.once('error', () => {
      clearTimeout(timer)
      resolve(false)
    })
    child.once('exit', (status) => {
      clearTimeout(timer)
      resolve(status === 0)
    })
    child.unref()
  })
}
