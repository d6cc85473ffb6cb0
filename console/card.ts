/** A credential as wallets draw it. */
import type { Display } from './clients.ts'
import { element } from './dom.ts'

const COLOR = /^#([\da-f]{3}|[\da-f]{6})$/i
/** The colors of a card whose issuer names none, as the style sheet has them. */
const USUAL = { background: '#39424f', text: '#ffffff' } as const
/** A picture that the page may load. */
const PICTURE = /^(https:|data:image\/)/
/** The contrast below which a text can hardly be read, as WCAG 2.2 counts it; it asks for 3 of large texts. */
const LEAST_CONTRAST = 2

/** Draws the card of a configuration from one of its displays, of which a stranger's may be anything. */
export function drawCard(name: string, display: Display = {}): HTMLElement {
  const { description, logo, background_image: background } = display
  const card = element('div', { class: 'credential' })
  // The policy of the page forbids style attributes; the properties of an element are allowed.
  const [backgroundColor, textColor] = [colorOf(display.background_color), colorOf(display.text_color)]
  if (backgroundColor !== undefined) card.style.backgroundColor = backgroundColor
  if (backgroundColor !== undefined || textColor !== undefined) {
    card.style.color = readableColor(backgroundColor ?? USUAL.background, textColor ?? USUAL.text)
  }
  if (PICTURE.test(background?.uri ?? '')) {
    card.style.backgroundImage = pictureValue(background?.uri ?? '')
    // A picture may have any color, so that the words get the background color behind them.
    card.classList.add('pictured')
  }
  if (PICTURE.test(logo?.uri ?? '')) card.append(element('img', { src: logo?.uri ?? '', alt: logo?.alt_text ?? '' }))
  card.append(element('strong', {}, name))
  if (typeof description === 'string') card.append(element('span', {}, description))
  return card
}

function colorOf(value: unknown): string | undefined {
  return typeof value === 'string' && COLOR.test(value) ? value : undefined
}

/** Writes the address of a picture for CSS, where a quotation mark or a backslash would end or change it. */
function pictureValue(uri: string): string {
  if (!URL.canParse(uri)) return ''
  return `url("${new URL(uri).href.replaceAll('"', '%22').replaceAll('\\', '%5C')}")`
}

/** Returns the text color where it can be read on the background, and otherwise black or white. */
function readableColor(background: string, textColor: string): string {
  const light = luminanceOf(background)
  const contrastWith = (other: number): number => (Math.max(light, other) + 0.05) / (Math.min(light, other) + 0.05)
  if (contrastWith(luminanceOf(textColor)) >= LEAST_CONTRAST) return textColor
  return contrastWith(1) > contrastWith(0) ? '#ffffff' : '#000000'
}

/** Returns the relative luminance of a color, from 0 for black to 1 for white. WCAG 2.2, relative luminance. */
function luminanceOf(color: string): number {
  const isShort = color.length < 7
  const [red = 0, green = 0, blue = 0] = [0, 1, 2].map((index) => {
    const digits = isShort ? color.charAt(index + 1).repeat(2) : color.slice(2 * index + 1, 2 * index + 3)
    const part = Number.parseInt(digits, 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
