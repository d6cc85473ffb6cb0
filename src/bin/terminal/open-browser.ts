/** Opens a URL in the user's browser, if there is one. */
import { spawn } from 'node:child_process'

/** The program that opens a URL, and its arguments before the URL. */
export type BrowserCommand = readonly [program: string, ...args: string[]]

interface Surroundings {
  readonly platform: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdout: { readonly isTTY?: boolean }
}

/** How long to wait for the program to fail. */
export const FAILS_WITHIN_MS = 1000

/** Returns the command that opens a browser; undefined without a display or terminal, or in CI. */
export function browserCommand({ platform, env, stdout }: Surroundings): BrowserCommand | undefined {
  if (stdout.isTTY !== true || env.CI || env.BROWSER === 'none') return undefined
  const isRemote = Boolean(env.SSH_CONNECTION)
  if (platform === 'darwin') return isRemote ? undefined : ['open']
  if (platform === 'win32') return isRemote ? undefined : ['rundll32', 'url.dll,FileProtocolHandler']
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open'] : undefined
}

/** Starts the command. Resolves with whether it seems to work: it still runs after a second, or has succeeded. */
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
