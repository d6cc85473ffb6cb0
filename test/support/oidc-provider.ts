/** The npm package `oidc-provider` as docs/how-to/sign-in.md runs it: a provider as a process, until its test ends. */
import { spawn } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { temporaryDirectory } from './command.ts'
import { ROOT, snippetWith } from './documents.ts'

export const SIGN_IN_PAGE = 'docs/how-to/sign-in.md'

/** Starts the provider of the page, at another port and for another client. */
export async function startProvider(
  ports: { readonly provider: number; readonly issuer: number },
  change = (text: string): string => text,
): Promise<void> {
  const directory = temporaryDirectory()
  symlinkSync(join(ROOT, 'test/interop/node_modules'), join(directory, 'node_modules'))
  const text = snippetWith(SIGN_IN_PAGE, 'new Provider(').replaceAll('4000', `${ports.provider}`)
  writeFileSync(join(directory, 'provider.mjs'), change(text.replaceAll('8079', `${ports.issuer}`)))
  const child = spawn(process.execPath, ['provider.mjs'], { cwd: directory, stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  const metadata = `http://localhost:${ports.provider}/.well-known/openid-configuration`
  const statusOfMetadata = (): Promise<number> =>
    fetch(metadata).then(
      ({ status }) => status,
      () => 0,
    )
  await expect.poll(statusOfMetadata, { timeout: 30_000 }).toBe(200)
}

/** Sets the one address that the provider sends browsers back to, for the `change` above. */
export function sendBackTo(address: string): (text: string) => string {
  return (text) => text.replace(/redirect_uris: \[[^\]]+\]/, `redirect_uris: ['${address}']`)
}
