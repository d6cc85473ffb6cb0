/** The content of the element. It is changed in place, so that focus and screen readers stay where they are. */
import type { RequestKind } from './link.ts'
import { STYLE } from './style.ts'
import { createSvg, drawCode } from './svg.ts'
import { type ShownStatus, textsOf } from './texts.ts'

export interface PanelState {
  readonly language: string
  readonly kind: RequestKind
  readonly status: ShownStatus
  /** The link for the wallet, while a wallet can take it. */
  readonly href: string | undefined
  /** The way for a wallet that comes first. */
  readonly display: 'link' | 'qr'
  readonly secondsLeft: number | undefined
  /** Whether the application could not be asked lately. */
  readonly isLost: boolean
}

export interface Panel {
  show(state: PanelState): void
}

/** The most seconds that the remaining time is shown for: a day. */
const MOST_SECONDS = 86_400

const TURNING = 'M12 3a9 9 0 1 1-9 9'
const CROSS = 'M6 6l12 12M18 6L6 18'
const MARKS: Readonly<Record<ShownStatus, string>> = {
  preparing: TURNING,
  waiting: TURNING,
  opened: TURNING,
  done: 'M4 13l5 5L20 6',
  failed: CROSS,
  declined: CROSS,
  invalid: CROSS,
  expired: 'M12 7v5l3 2M12 3a9 9 0 1 0 .01 0',
}

/** Makes the content in a shadow root. `onAgain` is called when the person wants a new request. */
export function createPanel(root: ShadowRoot, onAgain: () => void): Panel {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(STYLE)
  root.adoptedStyleSheets = [sheet]

  const parts = createParts()
  const { frame, other, again, link, code } = parts
  root.append(frame)
  again.addEventListener('click', onAgain)
  other.addEventListener('click', () => {
    const second = parts.ways.lastElementChild
    if (second instanceof HTMLElement) second.hidden = !second.hidden
    other.ariaExpanded = String(!(link.hidden || code.hidden))
  })
  let before: PanelState | undefined
  return {
    show: (state) => {
      const focused = root.activeElement
      showWays(parts, state, before)
      showState(parts, state)
      before = state
      if (focused === null || focused.closest('[hidden]') === null) return
      const next = again.hidden ? frame : again
      next.focus()
    },
  }
}

function createParts() {
  const link = createPart('a', 'link')
  link.rel = 'noreferrer'
  const parts = {
    frame: createPart('div', 'frame'),
    instruction: createPart('p', 'instruction'),
    ways: createPart('div', 'ways'),
    code: createPart('div', 'code'),
    link,
    other: createButton('other'),
    state: createPart('div', 'state'),
    mark: createSvg('path', {}),
    status: createPart('p', 'status'),
    time: createPart('p', 'time'),
    again: createButton('again'),
  }
  const { frame, instruction, ways, state, mark, status, time, again } = parts
  frame.tabIndex = -1
  frame.role = 'group'
  // All texts are in languages that are written from left to right; the page may be in another.
  frame.dir = 'ltr'
  status.role = 'status'
  status.ariaLive = 'polite'
  time.role = 'timer'
  const marked = createSvg('svg', { viewBox: '0 0 24 24', class: 'mark', part: 'mark', 'aria-hidden': 'true' })
  marked.append(mark)
  state.append(marked, status, time)
  frame.append(instruction, ways, state, again)
  return parts
}

type Parts = ReturnType<typeof createParts>

/** Shows code and link, the way for this screen first and the other behind a button. */
function showWays(parts: Parts, state: PanelState, before: PanelState | undefined): void {
  const { instruction, ways, code, link, other } = parts
  const { href, display } = state
  const { texts } = textsOf(state.language)
  const isCodeFirst = display === 'qr'
  // A wallet that has opened the request needs no code any more; the code stays for another wallet.
  instruction.hidden = href === undefined || !isCodeFirst || state.status === 'opened'
  ways.hidden = href === undefined
  setText(instruction, texts.scan)
  setText(link, texts.open)
  setText(other, isCodeFirst ? texts.thisDevice : texts.anotherDevice)
  if (href === undefined) {
    link.removeAttribute('href')
    code.replaceChildren()
    return
  }
  if (before?.href === href && before.display === display && before.language === state.language) return
  link.href = href
  code.replaceChildren(drawCode(href, texts.code))
  const [first, second] = isCodeFirst ? [code, link] : [link, code]
  ways.replaceChildren(first, other, second)
  first.hidden = false
  second.hidden = true
  other.ariaExpanded = 'false'
}

/** Shows how far the request is. */
function showState(parts: Parts, { language, kind, status, secondsLeft, isLost, href }: PanelState): void {
  const { frame, mark, time, again } = parts
  const { language: lang, texts } = textsOf(language)
  const text = texts[status]
  const isOver = href === undefined && status !== 'preparing'
  frame.lang = lang
  frame.ariaLabel = texts.open
  frame.ariaBusy = String(status === 'preparing')
  frame.className = `frame ${status}${isOver ? ' end' : ''}`
  mark.setAttribute('d', MARKS[status])
  parts.status.setAttribute('part', `status ${status}`)
  setText(parts.status, isLost && !isOver ? texts.lost : typeof text === 'string' ? text : text[kind])
  time.hidden = secondsLeft === undefined || secondsLeft > MOST_SECONDS
  setText(time, texts.left.replace('0:00', formatTime(secondsLeft ?? 0)))
  again.hidden = !['failed', 'declined', 'expired'].includes(status)
  setText(again, texts.again)
}

/** Returns a time as minutes and seconds, with hours before them from an hour on. */
export function formatTime(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)]
  const parts = [...(hours > 0 ? [hours] : []), minutes, seconds % 60]
  return parts.map((part, index) => (index === 0 ? part : String(part).padStart(2, '0'))).join(':')
}

/** Changes a text only where it is another one: a screen reader would say it again. */
function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text
}

function createButton(name: string): HTMLButtonElement {
  const button = createPart('button', name)
  button.type = 'button'
  return button
}

function createPart<Name extends keyof HTMLElementTagNameMap>(tag: Name, name: string): HTMLElementTagNameMap[Name] {
  const element = document.createElement(tag)
  element.className = name
  element.setAttribute('part', name)
  return element
}
