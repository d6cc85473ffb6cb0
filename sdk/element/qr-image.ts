/** A QR code as SVG, dark on light under every theme, with the quiet zone of ISO/IEC 18004. */
import encodeQR from 'qr'
import { createSvg } from './svg.ts'

const QUIET_ZONE = 4

/** Draws the code of a text, with a name for those who do not see it. */
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
