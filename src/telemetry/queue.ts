/** A queue of texts that wait for a collector, bounded in number and size. */

/** The most queued items while the collector cannot be reached for a while. */
const MAX_WAITING = 16_384
const MAX_WAITING_CHARACTERS = 8 * 1024 * 1024

export interface Queue {
  readonly size: () => number
  /** Adds an item; returns false when there is no room. */
  readonly add: (item: string) => boolean
  /** Takes the first items. */
  readonly take: (most: number) => readonly string[]
  /** Puts items back before all others, and returns how many have no room any more. */
  readonly putBack: (items: readonly string[]) => number
  /** Drops all items, and returns how many these were. */
  readonly clear: () => number
}

export function createQueue(): Queue {
  let waiting: string[] = []
  let characters = 0
  const hasRoom = (count: number, item: string): boolean =>
    count < MAX_WAITING && characters + item.length <= MAX_WAITING_CHARACTERS
  return {
    size: () => waiting.length,
    add: (item) => {
      if (!hasRoom(waiting.length, item)) return false
      waiting.push(item)
      characters += item.length
      return true
    },
    take: (most) => {
      const items = waiting.splice(0, most)
      for (const { length } of items) characters -= length
      return items
    },
    putBack: (items) => {
      const fitting: string[] = []
      for (const item of items) {
        if (!hasRoom(waiting.length + fitting.length, item)) break
        fitting.push(item)
        characters += item.length
      }
      waiting = [...fitting, ...waiting]
      return items.length - fitting.length
    },
    clear: () => {
      const { length } = waiting
      waiting = []
      characters = 0
      return length
    },
  }
}
