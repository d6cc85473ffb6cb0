/** Times in the form that protocols use. */

/** Returns a time in whole seconds since the epoch, rounded down. A number is in milliseconds. */
export function epochSeconds(time: Date | number): number {
  return Math.floor(Number(time) / 1000)
}

/** Tests whether a day such as `2026-12-31` exists. Date alone takes February 30 for a day in March. */
export function isCalendarDay(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)?.map(Number) ?? []
  if (year === undefined || month === undefined || day === undefined) return false
  return month >= 1 && month <= 12 && day >= 1 && day <= countDays(year, month)
}

/** Tests whether a time in UTC such as `2026-12-31T23:59:59Z` exists. */
export function isCalendarTime(text: string): boolean {
  const [, day] = /^(.{10})T(?:[01]\d|2[0-3])(?::[0-5]\d){2}Z$/.exec(text) ?? []
  return day !== undefined && isCalendarDay(day)
}

/** Returns the number of days of a month, from 1 for January on. */
function countDays(year: number, month: number): number {
  // Day 0 of the next month is the last of this one. Date.UTC takes the years 0 to 99 as 1900 to 1999, so that a year
  // of the same calendar stands for each: the calendar repeats after 400 years.
  return new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()
}
