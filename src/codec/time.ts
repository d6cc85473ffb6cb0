/** Times in the form that protocols use. */

/** Returns a time in whole seconds since the epoch, rounded down. A number is in milliseconds. */
export function epochSeconds(time: Date | number): number {
  return Math.floor(Number(time) / 1000)
}
