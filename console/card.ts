/** A credential as wallets draw it. */
import type { Display } from './clients.ts'
import { element } from './dom.ts'

const COLOR = /^#[\da-f]{3,8}$/i
/** A picture that the page may load. */
const PICTURE = /^(https:|data:image\/)/

/** Draws the card of a configuration from its first display. */
export function drawCard(name: string, display: Display = {}): HTMLElement {
  const { description, logo, background_image: background } = display
  const card = element('div', { class: 'credential' })
  // The policy of the page forbids style attributes; the properties of an element are allowed.
  if (COLOR.test(display.background_color ?? '')) card.style.backgroundColor = display.background_color ?? ''
  if (COLOR.test(display.text_color ?? '')) card.style.color = display.text_color ?? ''
  if (PICTURE.test(background?.uri ?? '')) card.style.backgroundImage = `url("${encodeURI(background?.uri ?? '')}")`
  if (PICTURE.test(logo?.uri ?? '')) card.append(element('img', { src: logo?.uri ?? '', alt: logo?.alt_text ?? '' }))
  card.append(element('strong', {}, name))
  if (description !== undefined) card.append(element('span', {}, description))
  return card
}
