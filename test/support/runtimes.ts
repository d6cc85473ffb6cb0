/** Other runtimes than Node, from packages of npm: each runs a module, whose default export resolves with a value. */
import { execFile, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

export type Runtime = 'deno' | 'bun' | 'workerd'

const PACKAGES = join(import.meta.dirname, '..', 'interop', 'node_modules')
const PROGRAMS = {
  deno: '@deno/linux-x64-glibc/deno',
  bun: '@oven/bun-linux-x64/bin/bun',
  workerd: '@cloudflare/workerd-linux-64/bin/workerd',
} as const

/** Tests whether this platform is the one for which the runtimes are installed. */
export const hasRuntimes = process.platform === 'linux' && process.arch === 'x64'

function programOf(runtime: Runtime): string {
  return join(PACKAGES, PROGRAMS[runtime])
}

/**
 * Runs a module, bundled to one text without imports, and resolves with the value of its default export, a function
 * without arguments.
 */
export async function runIn(runtime: Runtime, module: string, directory: string): Promise<unknown> {
  writeFileSync(join(directory, 'program.js'), module)
  if (runtime === 'workerd') return runInWorker(directory)
  const main = join(directory, 'main.js')
  writeFileSync(main, "import program from './program.js'\nconsole.log(JSON.stringify(await program()))\n")
  const args = runtime === 'deno' ? ['run', '--no-config', '--no-lock', '--allow-net', main] : [main]
  const env = { PATH: process.env.PATH, HOME: directory, DENO_DIR: join(directory, 'deno'), NO_COLOR: '1' }
  const { stdout } = await promisify(execFile)(programOf(runtime), args, { cwd: directory, env })
  return JSON.parse(stdout)
}

const WORKER = `import program from './program.js'
export default {
  fetch: () => program().then((value) => Response.json(value), (error) => new Response(String(error.stack), { status: 500 })),
}
`

const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [ (name = "main", worker = .main), (name = "internet", network = (allow = ["public", "private"])) ],
  sockets = [ (name = "http", address = "127.0.0.1:0", http = (), service = "main") ],
);
const main :Workerd.Worker = (
  modules = [ (name = "main", esModule = embed "worker.js"), (name = "program.js", esModule = embed "program.js") ],
  compatibilityDate = "2026-11-01",
);
`

async function runInWorker(directory: string): Promise<unknown> {
  writeFileSync(join(directory, 'worker.js'), WORKER)
  writeFileSync(join(directory, 'config.capnp'), CONFIG)
  const words = ['serve', 'config.capnp', '--control-fd=3']
  const child = spawn(programOf('workerd'), words, { cwd: directory, stdio: ['ignore', 'ignore', 'pipe', 'pipe'] })
  try {
    const port = await new Promise<number>((resolve, reject) => {
      let text = ''
      child.stderr?.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
      child.stdio[3]?.on('data', (chunk: Buffer) => {
        const [, listening] = /"port":(\d+)/.exec(chunk.toString()) ?? []
        if (listening !== undefined) resolve(Number(listening))
      })
      child.once('close', () => reject(new Error(`workerd ended: ${text}`)))
    })
    const response = await fetch(`http://127.0.0.1:${port}/`)
    if (!response.ok) throw new Error(await response.text())
    return await response.json()
  } finally {
    child.kill('SIGKILL')
  }
}
