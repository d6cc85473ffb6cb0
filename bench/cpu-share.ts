/**
 * A fixed share of a core for a process, by a control group of Linux: what several processes do side by side shows also
 * on a machine where the load generator takes the rest.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = '/sys/fs/cgroup'
/** A process that has used up its part of a period waits for the next one, so that a short period makes short waits. */
const PERIOD_US = 10_000
const LEAST_SHARE = 0.1
const ATTEMPTS = 40

/** Where groups of the processor are made, and the files that limit one. */
interface Hierarchy {
  readonly directory: string
  limits(quotaUs: number): Readonly<Record<string, string>>
}

/** The groups that are there; they are removed with this process, however that ends. */
const groups = new Map<string, () => void>()
process.on('exit', () => {
  for (const remove of groups.values()) remove()
})

/**
 * Puts a process into a group of its own that gives it this share of one core; returns what undoes that. Throws a
 * sentence where the machine does not let it.
 */
export function limitProcess(pid: number, share: number): () => void {
  if (!(share >= LEAST_SHARE && share <= 1)) throw new Error(`a share of a core is from ${LEAST_SHARE} to 1`)
  const hierarchy = findHierarchy()
  const group = join(hierarchy.directory, `vouchsafe-bench-${pid}`)
  const remove = (): void => {
    groups.delete(group)
    removeGroup(hierarchy, group, pid)
  }
  try {
    mkdirSync(group)
    groups.set(group, remove)
    for (const [name, value] of Object.entries(hierarchy.limits(Math.round(PERIOD_US * share))))
      writeFileSync(join(group, name), value)
    writeFileSync(join(group, 'cgroup.procs'), String(pid))
  } catch (error) {
    throw new Error(`no process can be given a share of a core here: ${(error as Error).message}`, { cause: error })
  }
  return remove
}

/** Says why no process can be given a share of a core here; undefined when it can. */
export function shareProblem(): string | undefined {
  try {
    findHierarchy()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function findHierarchy(): Hierarchy {
  if (process.platform !== 'linux') throw new Error('only Linux gives a process a share of a core')
  if (process.getuid?.() !== 0) throw new Error('only root may give a process a share of a core: run this as root')
  const first = ['cpu', 'cpu,cpuacct'].map((name) => join(ROOT, name)).find((path) => existsSync(join(path, 'tasks')))
  if (first !== undefined) {
    const limits = (quotaUs: number) => ({
      'cpu.cfs_period_us': String(PERIOD_US),
      'cpu.cfs_quota_us': String(quotaUs),
    })
    return { directory: first, limits }
  }
  const controllers = join(ROOT, 'cgroup.controllers')
  if (!existsSync(controllers) || !/\bcpu\b/.test(readFileSync(controllers, 'utf8')))
    throw new Error(`${ROOT} has no control groups of the processor`)
  passOnProcessor()
  return { directory: ROOT, limits: (quotaUs) => ({ 'cpu.max': `${quotaUs} ${PERIOD_US}` }) }
}

/** Lets groups of the second version limit the processor, which is refused where the root is itself a limited group. */
function passOnProcessor(): void {
  const file = join(ROOT, 'cgroup.subtree_control')
  if (/\bcpu\b/.test(readFileSync(file, 'utf8'))) return
  try {
    writeFileSync(file, '+cpu')
  } catch (error) {
    throw new Error(`${file} does not take the processor: ${(error as Error).message}`, { cause: error })
  }
}

/** Moves the process back, if it still runs, and removes the group as soon as nothing is in it. */
function removeGroup({ directory }: Hierarchy, group: string, pid: number): void {
  for (let attempt = 1; ; attempt += 1) {
    try {
      if (existsSync(`/proc/${pid}`)) writeFileSync(join(directory, 'cgroup.procs'), String(pid))
    } catch {
      // The process ends at this moment.
    }
    try {
      rmdirSync(group)
      return
    } catch (error) {
      if (attempt === ATTEMPTS) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 25)
    }
  }
}
