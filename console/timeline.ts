/** Draws what happened in a session as a list: each with its time, its meaning, and what went wrong. */
import { drawTime, element } from './dom.ts'
import type { SessionMoment } from './moments.ts'

export function drawTimeline(moments: readonly SessionMoment[]): HTMLElement {
  return element(
    'ol',
    { class: 'events' },
    ...moments.map(({ at, text, meaning, look = '' }) =>
      element(
        'li',
        { class: look },
        at !== undefined && drawTime(at),
        element('span', {}, text),
        meaning !== undefined && meaning !== '' && element('small', {}, meaning),
      ),
    ),
  )
}
