/** The content of the element. It is changed in place, so that focus and screen readers stay where they are. */
import type { RequestKind } from './link.ts'
import { STYLE } from './style.ts'
import { createSvg, drawCode } from './svg.ts'
import { type ShownStatus, textsOf } from './texts.ts'

export interface PanelState {
  readonly language: string
  readonly kind: RequestKind
  readonly status: ShownStatus
  /** Whether a wallet can take the request. */
  readonly isOpen: boolean
  readonly href: string | undefined
  /** Whether the browser can ask a wallet, which then comes first. */
  readonly canAsk: boolean
  /** The one of link and code that comes first. */
  readonly display: 'link' | 'qr'
  readonly secondsLeft: number | undefined
  /** Whether the application could not be asked lately. */
  readonly isLost: boolean
}

export interface Panel {
  show(state: PanelState): void
}

export interface PanelListener {
  /** The person wants the browser to ask a wallet. */
  readonly onAsk: () => void
  /** The person wants a new request. */
  readonly onRetry: () => void
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
  stopped: CROSS,
  invalid: CROSS,
  unsupported: CROSS,
  expired: 'M12 7v5l3 2M12 3a9 9 0 1 0 .01 0',
}

/** Makes the content in a shadow root. */
export function createPanel(root: ShadowRoot, { onAsk, onRetry }: PanelListener): Panel {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(STYLE)
  root.adoptedStyleSheets = [sheet]

  const parts = createParts()
  const { frame, ask, other, again } = parts
  root.append(frame)
  ask.addEventListener('click', onAsk)
  again.addEventListener('click', onRetry)
  other.addEventListener('click', () => showOthers(parts, other.ariaExpanded === 'false'))
  let before: PanelState | undefined
  return {
    show: (state) => {
      const focused = root.activeElement
      showWays(parts, state, before)
      if (state.status === 'stopped' && before?.status !== 'stopped') showOthers(parts, true)
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
    ask: createButton('ask'),
    code: createPart('div', 'code'),
    link,
    other: createButton('other'),
    state: createPart('div', 'state'),
    mark: createSvg('path', {}),
    status: createPart('p', 'status'),
    time: createPart('p', 'time'),
    again: createButton('again'),
  }
  const { frame, ways, state, mark, status, time, again } = parts
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
  frame.append(ways, state, again)
  return parts
}

type Parts = ReturnType<typeof createParts>

/** Shows the ways to a wallet: the first one, and the others behind a button. */
function showWays(parts: Parts, state: PanelState, before: PanelState | undefined): void {
  const { instruction, ways, ask, code, link, other } = parts
  const { isOpen, href, canAsk, display, language } = state
  const { texts } = textsOf(language)
  const isCodeFirst = display === 'qr'
  // A wallet that has opened the request needs no code any more; the code stays for another wallet.
  instruction.hidden = state.status === 'opened'
  // The person has nothing to choose while the verifier reads an answer.
  ways.hidden = !isOpen || state.status === 'preparing'
  setText(instruction, texts.scan)
  setText(ask, texts.ask)
  setText(link, texts.open)
  setText(other, canAsk ? texts.anotherWay : isCodeFirst ? texts.thisDevice : texts.anotherDevice)
  if (href === undefined) {
    link.removeAttribute('href')
    code.replaceChildren()
  }
  const isDrawn = before?.isOpen && before.href === href && before.canAsk === canAsk && before.display === display
  // Hidden ways stay in their places, so that the focus can move on from there.
  if (!isOpen || (isDrawn && before.language === language)) return
  if (href !== undefined) {
    link.href = href
    code.replaceChildren(instruction, drawCode(href, texts.code))
  }
  const linkAndCode = isCodeFirst ? [code, link] : [link, code]
  const all = [...(canAsk ? [ask] : []), ...(href === undefined ? [] : linkAndCode)]
  for (const way of all) way.hidden = false
  other.hidden = all.length < 2
  ways.replaceChildren(...all.toSpliced(1, 0, other))
  showOthers(parts, false)
}

/** Shows or hides the ways behind the button. */
function showOthers({ ways, other }: Parts, isShown: boolean): void {
  for (const way of [...ways.children].slice(2)) way.toggleAttribute('hidden', !isShown)
  other.ariaExpanded = String(isShown)
}

/** Shows how far the request is. */
function showState(parts: Parts, { language, kind, status, secondsLeft, isLost, isOpen }: PanelState): void {
  const { frame, mark, time, again } = parts
  const { language: lang, texts } = textsOf(language)
  const text = texts[status]
  const isOver = !isOpen && status !== 'preparing'
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
