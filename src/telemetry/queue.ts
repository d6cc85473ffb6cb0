/** A queue of texts for a collector, limited in number and size. */

/** The most queued items, which wait while the collector cannot be reached. */
const MAX_WAITING = 16_384
const MAX_WAITING_CHARACTERS = 8 * 1024 * 1024

export interface Queue {
  readonly size: () => number
  /** Adds an item; returns false when there is no room. */
  readonly add: (item: string) => boolean
  /** Removes and returns the first items, at most `most`. */
  readonly take: (most: number) => readonly string[]
  /** Puts items back at the front, and returns the number of items for which there is no room. */
  readonly putBack: (items: readonly string[]) => number
  /** Drops all items, and returns their number. */
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
