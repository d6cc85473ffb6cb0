/** The guided walk: what to do next, one click at a time. */
import { element, replaceContent } from '../dom.ts'

export type WalkEvent = 'offered' | 'received' | 'coded' | 'asked' | 'presented' | 'chosen' | StrayEvent
/**
 * An event that ends no step: an offer could not be received, an honest presentation was refused, an offer or a request
 * was left, or the wallet was emptied.
 */
type StrayEvent = 'unreceived' | 'refused' | 'dropped' | 'emptied'

interface GuideStep {
  /** The event that ends the step. */
  readonly after: WalkEvent
  readonly text: string
  /** The button of the guide, for what a service does; the wallet has its own buttons. */
  readonly label?: string
}

const STEPS: readonly GuideStep[] = [
  { after: 'offered', text: 'You are the university: offer a student ID.', label: 'Offer it' },
  { after: 'received', text: 'You are the student: look at the offer in the wallet, and receive it.' },
  { after: 'coded', text: 'Type the transaction code, which the university sent you another way.' },
  {
    after: 'asked',
    text: 'You have the card. Now you are the library: ask for two of its six claims.',
    label: 'Ask for them',
  },
  { after: 'presented', text: 'You are the student: see what would leave the wallet, and present it.' },
  {
    after: 'asked',
    text: 'Read the report: every check, and why. Then let the library ask again.',
    label: 'Ask again',
  },
  { after: 'chosen', text: 'Be a thief: choose what the wallet does wrong, such as Wrong nonce.' },
  { after: 'presented', text: 'Present it.' },
  { after: 'asked', text: 'See which check caught it. Then let the library ask a last time.', label: 'Ask once more' },
  { after: 'chosen', text: 'Choose Revoked credential: the university revokes the card before it is presented.' },
  { after: 'presented', text: 'Present it.' },
]
const END =
  'That was the walk. Try the other misbehaviours, decline a request, or paste a link of your own. It begins again with an empty wallet.'
const RECEIVING = STEPS.findIndex(({ after }) => after === 'received')
const RECEIVE_AGAIN = 'You do not have the card yet. Open the offer again, and receive it.'
const FIRST_OF_REVOKED = STEPS.findIndex(({ text }) => text.startsWith('Choose Revoked credential'))

/** The place of the step in the storage of this tab. Each start of the console has a path of its own. */
const STEP = `vouchsafe-walk ${location.pathname}`
/** The index of the current step, which outlasts the wallet's page, so that whoever comes back to it goes on there. */
let at = Number(sessionStorage.getItem(STEP))

export interface Guide {
  readonly drawn: HTMLElement
  /**
   * Shows the next step when the current one waits for `event`, and the step that has to be done again after an event
   * that ends none.
   */
  report(event: WalkEvent): void
}

/** Makes the guide, at the step that it had when the wallet was left. `act` does what a service has to do next. */
export function createGuide(act: (event: WalkEvent) => void): Guide {
  // The wallet opens with its cards, so that an offer or a request that was left needs a new one.
  if (at < STEPS.length) at = lastStepOfService(at)
  const drawn = element('section', { class: 'guide', 'aria-label': 'Guided walk', 'aria-live': 'polite' })
  const draw = (text: string | undefined = STEPS[at]?.text): void => {
    const step = STEPS[at]
    replaceContent(
      drawn,
      element('progress', { max: String(STEPS.length), value: String(at), 'aria-label': 'Steps done' }),
      element('p', {}, element('strong', {}, step ? `Step ${at + 1} of ${STEPS.length}` : 'Done'), ` ${text ?? END}`),
      step?.label !== undefined && element('button', { type: 'button', onclick: () => act(step.after) }, step.label),
    )
  }
  draw()
  return {
    drawn,
    report: (event) => {
      const next = stepAfter(event)
      if (next === undefined) return
      at = next
      sessionStorage.setItem(STEP, String(at))
      draw(event === 'unreceived' ? RECEIVE_AGAIN : undefined)
    },
  }
}

/** Returns the step to show after `event`; undefined where the current one is still to be done. */
function stepAfter(event: WalkEvent): number | undefined {
  if (event === 'emptied') return 0
  const step = STEPS[at]
  if (step === undefined) return undefined
  if (step.after === event) return at + 1
  if (event === 'unreceived') return Math.min(at, RECEIVING)
  if (event === 'offered') return at === RECEIVING ? at : undefined
  // A card that the library refuses at the end was revoked on the page of its session.
  if (event === 'refused' && at >= FIRST_OF_REVOKED) return STEPS.length
  return event === 'presented' || event === 'refused' || event === 'dropped' ? lastStepOfService(at) : undefined
}

function lastStepOfService(index: number): number {
  return STEPS.findLastIndex(({ label }, each) => each <= index && label !== undefined)
}
