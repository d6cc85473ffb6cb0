/** Elements of SVG, which have a namespace of their own, and a QR code of them. */
import encodeQR from 'qr'

/** The quiet zone of ISO/IEC 18004, in modules. */
const QUIET_ZONE = 4

/** Makes an element with attributes. */
export function createSvg<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>>,
): SVGElementTagNameMap[Name] {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value)
  return element
}

/** Draws the QR code of a text, dark on light under every theme, with a name for those who do not see it. */
export function drawCode(text: string, label: string): SVGSVGElement {
  const rows = encodeQR(text, 'raw', { ecc: 'low', border: QUIET_ZONE })
  const path = rows.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('')
  const svg = createSvg('svg', { viewBox: `0 0 ${rows.length} ${rows.length}`, role: 'img', 'aria-label': label })
  svg.append(
    createSvg('path', { fill: '#fff', d: `M0 0h${rows.length}v${rows.length}h-${rows.length}z` }),
    createSvg('path', { fill: '#000', d: path, 'shape-rendering': 'crispEdges' }),
  )
  return svg
}
