/**
 * `<vouchsafe-request>`: lets the browser ask a wallet, or shows the link of a session as a link or a QR code, and
 * shows how far the session is. The element talks to `digital-credentials` and `status-url`, and to nobody else.
 */
import { askWallet, type DigitalMessage, fetchDigitalRequests, hasDigitalCredentials } from './digital-credentials.ts'
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

/** The attributes, when they are valid. */
interface ReadRequest {
  readonly href: string | undefined
  /** Where the requests for the browser come from, and where the response to them goes. */
  readonly digitalUrl: URL | undefined
  readonly statusUrl: URL | undefined
}

/** A request that a wallet can take: by the link, by the browser, or by either. */
interface OpenRequest extends ReadRequest {
  readonly digitalRequests: readonly DigitalMessage[]
}

const PHONE = '(pointer: coarse) and (max-width: 40rem)'

/**
 * The class that the element extends. Outside a page, such as where a server renders it, the class is there and does
 * nothing.
 */
const Base: typeof HTMLElement = 'HTMLElement' in globalThis ? HTMLElement : (Object as unknown as typeof HTMLElement)

export class VouchsafeRequest extends Base {
  static readonly observedAttributes = [
    'digital-credentials',
    'link',
    'kind',
    'scheme',
    'status-url',
    'cross-origin',
    'display',
    'lang',
  ]

  #panel: Panel | undefined
  /** Ends what the element does for its link. */
  #current: AbortController | undefined
  #isChanging = false
  #status: RequestStatus | undefined
  /** Stands in place of the status for the person; undefined where the status is shown. */
  #shown: ShownStatus | undefined
  /** The request, while a wallet can take it. */
  #open: OpenRequest | undefined
  /** The end of the session by the clock of the page, in milliseconds. */
  #endsAt: number | undefined
  #isLost = false

  /** The status of the request; undefined while there is no request. */
  get status(): RequestStatus | undefined {
    return this.#status
  }

  connectedCallback(): void {
    this.#panel ??= createPanel(this.attachShadow({ mode: 'open' }), {
      onRetry: () => this.#renew(),
      onAsk: () => void this.#ask(),
    })
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
    this.#status = undefined
    this.#shown = undefined
    this.#open = undefined
    this.#endsAt = undefined
    this.#isLost = false
    if (this.getAttribute('link') || this.getAttribute('digital-credentials')) this.#prepare(signal)
    this.#show()
  }

  #prepare(signal: AbortSignal): void {
    const request = this.#readRequest()
    if ('problem' in request) {
      // A mistake is told to the developer.
      console.error('<vouchsafe-request>:', request.problem)
      this.#shown = 'invalid'
    } else if (request.digitalUrl && hasDigitalCredentials()) {
      // The call of the browser has to follow the click at once, so the requests are there before it.
      void fetchDigitalRequests(request.digitalUrl, signal).then((requests) => this.#begin(request, requests, signal))
    } else this.#begin(request, [], signal)
  }

  /** Begins with the requests for the browser, which are undefined where they could not be fetched. */
  #begin(request: ReadRequest, digitalRequests: readonly DigitalMessage[] | undefined, signal: AbortSignal): void {
    if (signal.aborted) return
    if (request.href || digitalRequests?.length) {
      this.#status = 'waiting'
      this.#open = { ...request, digitalRequests: digitalRequests ?? [] }
      matchMedia(PHONE).addEventListener('change', () => this.#show(), { signal })
      if (request.statusUrl) this.#watch(request.statusUrl, signal)
    } else this.#shown = digitalRequests ? 'unsupported' : 'invalid'
    this.#show()
  }

  #readRequest(): ReadRequest | { readonly problem: string } {
    const link = this.getAttribute('link')
    const read = link ? readWalletLink(link, this.#kind, this.getAttribute('scheme') ?? '') : { href: undefined }
    if ('problem' in read) return read
    const digital = this.#readAddress('digital-credentials')
    if ('problem' in digital) return digital
    const status = this.#readAddress('status-url')
    if ('problem' in status) return status
    if (status.url && status.url.origin !== location.origin && !this.hasAttribute('cross-origin')) {
      return { problem: 'status-url must be of the origin of the page, or the attribute cross-origin must be set' }
    }
    return { href: read.href, digitalUrl: digital.url, statusUrl: status.url }
  }

  #readAddress(name: string): { readonly url: URL | undefined } | { readonly problem: string } {
    const text = this.getAttribute(name)
    if (!text) return { url: undefined }
    const url = URL.canParse(text, document.baseURI) ? new URL(text, document.baseURI) : undefined
    return url && /^https?:$/.test(url.protocol) ? { url } : { problem: `${name} must be an address` }
  }

  #watch(url: URL, signal: AbortSignal): void {
    const onAnswer = (answer: StatusAnswer, now: number): void => {
      this.#isLost = false
      // After sleep the clock of the browser is behind, so that each answer sets the end anew.
      const left = (answer.expiresAt ?? Number.NaN) - now
      // A first answer with a time that is over is of a wrong clock.
      if (left > 0 || (left <= 0 && this.#endsAt !== undefined)) this.#endsAt = performance.now() + left * 1000
      this.#takeStatus(answer.status)
    }
    const onLost = (): void => {
      this.#isLost = true
      this.#show()
    }
    void watchStatus(url.href, { onAnswer, onLost }, signal)
    const clock = setInterval(() => this.#show(), 1000)
    signal.addEventListener('abort', () => clearInterval(clock))
  }

  #takeStatus(status: RequestStatus): void {
    const isOther = status !== this.#status
    const isOver = isEnd(status)
    this.#status = status
    if (isOther) this.#shown = undefined
    if (isOver) {
      this.#current?.abort()
      this.#open = undefined
    }
    this.#show()
    if (isOther) this.#dispatch('statuschange', { status })
    if (isOver) this.#dispatch('end', { status })
  }

  /** Has the browser ask a wallet. Where that comes to nothing, the person can try again or take another way. */
  async #ask(): Promise<void> {
    const { signal } = this.#current ?? {}
    const { digitalUrl, digitalRequests } = this.#open ?? {}
    if (!signal || !digitalUrl || !digitalRequests || this.#shown === 'opened') return
    this.#shown = 'opened'
    this.#show()
    const answer = await askWallet(digitalUrl, digitalRequests, signal)
    const redirect = String(answer?.redirect_uri)
    if (/^https?:/.test(redirect)) location.assign(redirect)
    // The status may have come before the answer.
    if (signal.aborted) return
    this.#shown = answer ? 'preparing' : 'stopped'
    this.#show()
  }

  #renew(): void {
    this.#current?.abort()
    this.#status = undefined
    this.#shown = undefined
    this.#open = undefined
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
    const isTimeUp = this.#open !== undefined && left < -GRACE_SECONDS
    const open = isTimeUp ? undefined : this.#open
    this.#panel?.show({
      language: this.closest<HTMLElement>('[lang]')?.lang ?? document.documentElement.lang,
      kind: this.#kind,
      status: isTimeUp ? 'expired' : (this.#shown ?? this.#status ?? 'preparing'),
      isOpen: open !== undefined,
      href: open?.href,
      canAsk: !!open?.digitalRequests.length,
      display: display === 'link' || display === 'qr' ? display : matchMedia(PHONE).matches ? 'link' : 'qr',
      secondsLeft: open === undefined || Number.isNaN(left) ? undefined : Math.max(0, Math.round(left)),
      isLost: this.#isLost,
    })
  }

  get #kind(): RequestKind {
    return this.getAttribute('kind') === 'offer' ? 'offer' : 'presentation'
  }
}
