/** The load generator: many flows over a few connections, each flow after the other on its connection. */
import { openConnection } from './connection.ts'
import { type Flow, stepOn } from './flow.ts'

export const CONCURRENCY = 16

export interface Load {
  readonly port: number
  readonly flows: readonly Flow[]
  /** The number of connections, each with one flow at a time. */
  readonly connections?: number
  /** Latencies in milliseconds are added here, by name of the step. */
  readonly latencies?: Map<string, number[]>
}

/** Runs all flows and gives the seconds it took. The first bad answer ends it. */
export async function runLoad({
  port,
  flows,
  latencies = new Map(),
  connections: many = CONCURRENCY,
}: Load): Promise<number> {
  const connections = await Promise.all(Array.from({ length: many }, () => openConnection(port)))
  const queue = flows[Symbol.iterator]()
  const begin = performance.now()
  try {
    await Promise.all(
      connections.map(async (connection) => {
        const step = stepOn(connection, (name, milliseconds) => {
          const times = latencies.get(name)
          if (times === undefined) latencies.set(name, [milliseconds])
          else times.push(milliseconds)
        })
        for (const flow of queue) await flow(step)
      }),
    )
    return (performance.now() - begin) / 1000
  } finally {
    for (const connection of connections) connection.close()
  }
}
