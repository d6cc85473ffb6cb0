/** A page of the console: the function that draws it. */
import type { Services } from './clients.ts'

/** Fills `main` with a page. `signal` ends when another page is shown. */
export type ShowPage = (main: HTMLElement, place: Place) => Promise<void>

interface Place {
  readonly services: Services
  /** The parts of the address after the name of the page. */
  readonly parts: readonly string[]
  readonly signal: AbortSignal
}
