/**
 * {@link startEngine} with the real runtime in the place of scripted components: worker threads that run the bytes of a
 * component.
 */
import { pool } from './components.ts'
import { ENGINE, startEngine, type TestEngine, type TestRuntime } from './engine.ts'
import { testChain } from './engine-chain.ts'
import { componentFile } from './engine-contracts.ts'

/** Starts an engine that serves these contracts, all with the component of `source`, in three workers. */
export async function servingInWorkers(
  source: string,
  contracts: readonly string[],
): Promise<TestEngine & { stop(): Promise<void> }> {
  const clock = { now: new Date() }
  const { bytes, sha256 } = await componentFile(source)
  const runtime = await pool({}, 3)
  const files = new Map([[sha256, bytes]])
  const from = { clock, chain: testChain(clock, ENGINE), files, runtime: runtime as TestRuntime }
  const started = await startEngine({ from })
  for (const address of contracts) started.chain.set({ address, component: { sha256, uri: '' } })
  await started.rounds()
  const stop = async (): Promise<void> => {
    await started.engine.stop()
    await started.engine.app.close()
    await runtime.close()
    await started.store.close()
  }
  return { ...started, stop }
}
