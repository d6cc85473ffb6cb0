/**
 * `<vouchsafe-request>`: shows the link of a session as a link or a QR code, and how far the session is. The element
 * talks to `status-url` and to nobody else.
 */
import { type RequestKind, readWalletLink } from './link.ts'
import { createPanel, type Panel } from './panel.ts'
import { isEnd, type RequestStatus, type StatusAnswer } from './status.ts'
import type { ShownStatus } from './texts.ts'
import { watchStatus } from './watch-status.ts'

/** The events of the element, for `addEventListener`. */
export interface VouchsafeRequestEventMap {
  /** The application says another status: the first of a request, `waiting`, is not a change. */
  statuschange: CustomEvent<{ readonly status: RequestStatus }>
  /** The request has its last status. */
  end: CustomEvent<{ readonly status: RequestStatus }>
  /** The person wants to try again: start a session, and set `link` and `status-url` anew. */
  renew: CustomEvent<null>
}

/** The seconds after the end of a session in which the application may still say how it ended. */
const GRACE_SECONDS = 5

/** The status without a request. */
type NoRequest = Exclude<ShownStatus, RequestStatus>

const PHONE = '(pointer: coarse) and (max-width: 40rem)'

/**
 * The class that the element extends. Outside a page, such as where a server renders it, the class is there and does
 * nothing.
 */
const Base: typeof HTMLElement = 'HTMLElement' in globalThis ? HTMLElement : (Object as unknown as typeof HTMLElement)

export class VouchsafeRequest extends Base {
  // `digital-credentials` is reserved: an attribute of that name will offer the Digital Credentials API.
  static readonly observedAttributes = ['link', 'kind', 'scheme', 'status-url', 'cross-origin', 'display', 'lang']

  #panel: Panel | undefined
  /** Ends what the element does for its link. */
  #current: AbortController | undefined
  #isChanging = false
  #status: ShownStatus = 'preparing'
  #href: string | undefined
  /** The end of the session by the clock of the page, in milliseconds. */
  #endsAt: number | undefined
  #isLost = false

  /** The status of the request; undefined while there is no request. */
  get status(): RequestStatus | undefined {
    return this.#status === 'preparing' || this.#status === 'invalid' ? undefined : this.#status
  }

  connectedCallback(): void {
    this.#panel ??= createPanel(this.attachShadow({ mode: 'open' }), () => this.#renew())
    this.#start()
  }

  disconnectedCallback(): void {
    this.#current?.abort()
  }

  attributeChangedCallback(name: string): void {
    if (!this.isConnected) return
    if (name === 'lang' || name === 'display') {
      this.#show()
      return
    }
    // A page that sets several attributes starts one request.
    if (this.#isChanging) return
    this.#isChanging = true
    queueMicrotask(() => {
      if (this.#isChanging && this.isConnected) this.#start()
    })
  }

  #start(): void {
    this.#isChanging = false
    this.#current?.abort()
    this.#current = new AbortController()
    const { signal } = this.#current
    this.#href = undefined
    this.#endsAt = undefined
    this.#isLost = false
    const request = this.#readRequest()
    if ('status' in request) {
      this.#status = request.status
      this.#show()
      return
    }
    this.#status = 'waiting'
    this.#href = request.href
    this.#show()
    matchMedia(PHONE).addEventListener('change', () => this.#show(), { signal })
    if (request.statusUrl !== undefined) this.#watch(request.statusUrl, signal)
  }

  /** The link and the address in the attributes, or the status without them: a mistake is told to the developer. */
  #readRequest(): { readonly href: string; readonly statusUrl: URL | undefined } | { readonly status: NoRequest } {
    const link = this.getAttribute('link')
    if (!link) return { status: 'preparing' }
    const read = readWalletLink(link, this.#kind, this.getAttribute('scheme') ?? '')
    const address = this.#statusAddress()
    if ('href' in read && address.problem === undefined) return { href: read.href, statusUrl: address.url }
    console.error('<vouchsafe-request>:', 'problem' in read ? read.problem : address.problem)
    return { status: 'invalid' }
  }

  #watch(url: URL, signal: AbortSignal): void {
    const credentials = url.origin === location.origin ? 'same-origin' : 'omit'
    const onAnswer = (answer: StatusAnswer, now: number): void => {
      this.#isLost = false
      const left = (answer.expiresAt ?? 0) - now
      // A time that is over changes nothing: the end is known from an earlier answer, or a clock is wrong.
      if (left > 0) this.#endsAt = performance.now() + left * 1000
      this.#takeStatus(answer.status)
    }
    const onLost = (): void => {
      this.#isLost = true
      this.#show()
    }
    void watchStatus(url.href, credentials, { onAnswer, onLost }, signal)
    const clock = setInterval(() => this.#show(), 1000)
    signal.addEventListener('abort', () => clearInterval(clock))
  }

  #takeStatus(status: RequestStatus): void {
    const isOther = status !== this.#status
    const isOver = isEnd(status)
    this.#status = status
    if (isOver) {
      this.#current?.abort()
      this.#href = undefined
    }
    this.#show()
    if (isOther) this.#dispatch('statuschange', { status })
    if (isOver) this.#dispatch('end', { status })
  }

  #renew(): void {
    this.#current?.abort()
    this.#href = undefined
    this.#status = 'preparing'
    this.#show()
    this.#dispatch('renew', null)
  }

  #dispatch(type: keyof VouchsafeRequestEventMap, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }))
  }

  #show(): void {
    const display = this.getAttribute('display')
    const left = ((this.#endsAt ?? Number.NaN) - performance.now()) / 1000
    // The person need not wait for an application that does not say the end; a late answer of it counts all the same.
    const isTimeUp = this.#href !== undefined && left < -GRACE_SECONDS
    const href = isTimeUp ? undefined : this.#href
    this.#panel?.show({
      language: this.closest<HTMLElement>('[lang]')?.lang ?? document.documentElement.lang,
      kind: this.#kind,
      status: isTimeUp ? 'expired' : this.#status,
      href,
      display: display === 'link' || display === 'qr' ? display : matchMedia(PHONE).matches ? 'link' : 'qr',
      secondsLeft: href === undefined || Number.isNaN(left) ? undefined : Math.max(0, Math.round(left)),
      isLost: this.#isLost,
    })
  }

  get #kind(): RequestKind {
    return this.getAttribute('kind') === 'offer' ? 'offer' : 'presentation'
  }

  /** The address of the application, which is of the page's own origin unless `cross-origin` is set. */
  #statusAddress(): { readonly url: URL | undefined; readonly problem?: undefined } | { readonly problem: string } {
    const text = this.getAttribute('status-url')
    if (text === null) return { url: undefined }
    const url = URL.canParse(text, document.baseURI) ? new URL(text, document.baseURI) : undefined
    if (url === undefined || !/^https?:$/.test(url.protocol)) return { problem: 'status-url must be an address' }
    if (url.origin === location.origin || this.hasAttribute('cross-origin')) return { url }
    return { problem: 'status-url must be of the origin of the page, or the attribute cross-origin must be set' }
  }
}
