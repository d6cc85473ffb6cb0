/** What the verification service does by itself while it runs. */
import type { Task } from '../store/upkeep.ts'

export function verifierUpkeep(): readonly Task[] {
  return []
}
