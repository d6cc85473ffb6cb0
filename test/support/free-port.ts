/** A port that nobody listens on: the system picks it, and it is free on every address of the machine. */
import { createServer } from 'node:net'

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, () => {
      const { port } = server.address() as { readonly port: number }
      server.close(() => resolve(port))
    })
  })
}
