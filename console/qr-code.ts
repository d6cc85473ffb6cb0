/** A link for a wallet: its QR code, and the link itself. */
import encodeQr from 'qr'
import { element } from './dom.ts'

const SVG = 'http://www.w3.org/2000/svg'
/** Modules around the code that stay white. ISO/IEC 18004. */
const QUIET = 4

export function drawLink(link: string): HTMLElement {
  return element(
    'div',
    { class: 'link' },
    drawQrCode(link),
    element('p', { class: 'quiet' }, 'The code is not shown again: keep this page open until a wallet has it.'),
    element('p', {}, element('a', { href: link }, 'Open in a wallet on this device')),
    element(
      'p',
      {},
      element('a', { href: `#/wallet/${encodeURIComponent(link)}` }, 'Open in the wallet of this console'),
    ),
    element('details', {}, element('summary', {}, 'The link'), element('code', { class: 'long' }, link)),
  )
}

function drawQrCode(link: string): Element {
  const rows = encodeQr(link, 'raw', { border: QUIET })
  const path = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
  const svg = document.createElementNS(SVG, 'svg')
  for (const [name, value] of [
    ['viewBox', `0 0 ${rows.length} ${rows.length}`],
    ['class', 'qr'],
    ['role', 'img'],
    ['aria-label', 'QR code of the link, for a wallet on another device'],
    ['shape-rendering', 'crispEdges'],
  ] as const) {
    svg.setAttribute(name, value)
  }
  const dark = document.createElementNS(SVG, 'path')
  dark.setAttribute('d', path)
  svg.append(dark)
  return svg
}
