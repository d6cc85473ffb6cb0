/**
 * Makes elements of the page. Texts are set as text, so that nothing of a wallet or an issuer is read as HTML, and
 * without the characters by which these would turn the direction of the words around them.
 */
import { removeControlCharacters } from '../src/codec/control-characters.ts'

type Child = Node | string | undefined | false
type Properties = Readonly<Record<string, string | boolean | ((event: Event) => void) | undefined>>

/** Makes an element with attributes (`on…` are listeners, false and undefined are left out) and children. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Properties = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag)
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === 'function') node.addEventListener(name.slice(2), value)
    else if (value === true) node.setAttribute(name, '')
    else if (typeof value === 'string') node.setAttribute(name, value)
  }
  const visibleChildren = children.filter((child) => child !== undefined && child !== false)
  node.append(...visibleChildren.map((child) => (typeof child === 'string' ? shownText(child) : child)))
  return node
}

/**
 * Makes a sentence of our own words, in which each value keeps its own direction: a name that is written from right to
 * left moves no word beside it.
 */
export function sentence(words: TemplateStringsArray, ...values: readonly string[]): DocumentFragment {
  const fragment = document.createDocumentFragment()
  for (const [index, own] of words.entries()) {
    const value = values[index]
    fragment.append(shownText(own), value === undefined ? '' : element('bdi', {}, value))
  }
  return fragment
}

/** Returns a text as the page shows it: with line breaks and tabs, and otherwise without control characters. */
export function shownText(text: string): string {
  return text.replaceAll(/[^\t\r\n]+/g, (line) => removeControlCharacters(line))
}

/**
 * Replaces what is in a place, such as by the next step. The focus that was on something in it goes to the place, and
 * not to the beginning of the page.
 */
export function replaceContent(place: HTMLElement, ...children: readonly Child[]): void {
  const hadFocus = place.contains(document.activeElement)
  place.replaceChildren(element('div', {}, ...children))
  if (!hadFocus) return
  place.tabIndex = -1
  place.focus()
}

/** Makes a function that acts unless what it did before is still under way, so that a double click acts once. */
export function oneAtATime(act: () => Promise<unknown>): () => void {
  let isUnderWay = false
  return () => {
    if (isUnderWay) return
    isUnderWay = true
    void act().finally(() => {
      isUnderWay = false
    })
  }
}

/** Makes a heading with its paragraph. */
export function introduction(title: string, text: string): DocumentFragment {
  const fragment = document.createDocumentFragment()
  fragment.append(element('h1', {}, title), element('p', { class: 'lead' }, text))
  return fragment
}

/** A term, and the words about it. */
export type Term = readonly [term: string, ...words: Child[]]

/** Draws a list of terms. */
export function drawTerms(look: string | undefined, terms: readonly Term[]): HTMLElement {
  const parts = terms.flatMap(([term, ...words]) => [element('dt', {}, term), element('dd', {}, ...words)])
  return element('dl', { class: look }, ...parts)
}

/** Makes a field with its label. */
export function field(label: string, control: HTMLElement, note?: string): HTMLElement {
  return element(
    'label',
    { class: 'field' },
    element('span', {}, label),
    control,
    note === undefined ? undefined : element('small', {}, note),
  )
}

/** Returns the local time for a number of seconds since the epoch. */
export function localTime(seconds: number): string {
  return new Date(seconds * 1000).toLocaleString()
}

/** Draws the local time as a `time` element, which has the time for programs as well. */
export function drawTime(seconds: number): HTMLElement {
  return element('time', { datetime: new Date(seconds * 1000).toISOString() }, localTime(seconds))
}

/**
 * Returns the message of an error as a sentence. Services and the wallet write theirs without a capital and a stop; the
 * name of a parameter or an address at the beginning keeps its spelling.
 */
export function errorSentence(error: unknown): string {
  const { message } = error as Error
  return message.replace(/^(?!\w+[:._])./, (letter) => letter.toUpperCase()).replace(/[^.!?…]$/, '$&.')
}

/** Draws an error, which a screen reader tells at once. */
export function drawError(error: unknown): HTMLElement {
  return element('p', { class: 'problem', role: 'alert' }, errorSentence(error))
}

/** Adds an error to a page, unless the person has left it. */
export function appendError(place: HTMLElement, error: unknown, signal: AbortSignal): void {
  if (!signal.aborted) place.append(drawError(error))
}

/** Makes the paragraph in which {@link showProblem} shows an error. */
export function hiddenProblem(): HTMLElement {
  return element('p', { class: 'problem', role: 'alert', hidden: true })
}

/** Shows an error in the paragraph of {@link hiddenProblem}. */
export function showProblem(problem: HTMLElement, error: unknown): void {
  problem.hidden = false
  problem.textContent = shownText(errorSentence(error))
}
