/** Elements of SVG, which have a namespace of their own, and a QR code of them. */
import { _BYTES, _ECC_BLOCKS, _tests, _WORDS_PER_BLOCK } from 'qr'

/**
 * The parts of the QR package that draw a code. Its whole function has other modes, levels and pictures besides, which
 * no page needs to load. A test compares the two.
 */
const { drawSymbol, encodeData, matGet } = _tests

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
  const rows = encodeModules(text)
  const path = rows.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('')
  const width = rows.length + 2 * QUIET_ZONE
  const box = `${-QUIET_ZONE} ${-QUIET_ZONE} ${width} ${width}`
  const svg = createSvg('svg', { viewBox: box, role: 'img', 'aria-label': label })
  svg.append(
    createSvg('path', { fill: '#fff', d: `M-${QUIET_ZONE}-${QUIET_ZONE}h${width}v${width}h-${width}z` }),
    createSvg('path', { fill: '#000', d: path, 'shape-rendering': 'crispEdges' }),
  )
  return svg
}

/** Returns the dark modules of the smallest code for a text, in bytes and with the least error correction. */
export function encodeModules(text: string): readonly (readonly boolean[])[] {
  const bytes = new TextEncoder().encode(text)
  const version =
    1 +
    _BYTES.findIndex((all, index) => {
      const forErrors = (_WORDS_PER_BLOCK.low[index] ?? 0) * (_ECC_BLOCKS.low[index] ?? 0)
      // The mode takes half a byte, and the length one, or two from version 10 on.
      return bytes.length + (index < 9 ? 1.5 : 2.5) <= all - forErrors
    })
  const code = drawSymbol(version, 'low', encodeData(version, 'low', '', 'byte', bytes))
  const places = [...Array(code.size).keys()]
  return places.map((y) => places.map((x) => matGet(code, x, y) === 1))
}
