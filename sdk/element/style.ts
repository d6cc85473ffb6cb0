/** The look of the element. A page changes it by custom properties and parts; docs/element.md lists both. */

export const STYLE = `
:host {
  --_text: var(--vouchsafe-text, light-dark(#1b1f24, #eceef1));
  --_muted: var(--vouchsafe-muted, light-dark(#57606a, #b1bac4));
  --_background: var(--vouchsafe-background, light-dark(#fff, #1c2128));
  --_border: var(--vouchsafe-border, light-dark(#d0d7de, #444c56));
  --_accent: var(--vouchsafe-accent, light-dark(#1f4fd8, #9dbcff));
  --_on-accent: var(--vouchsafe-on-accent, light-dark(#fff, #0d1830));
  --_good: var(--vouchsafe-good, light-dark(#1a7f37, #5fd37f));
  --_bad: var(--vouchsafe-bad, light-dark(#b3261e, #ff9c93));
  --_radius: var(--vouchsafe-radius, 12px);
  display: block;
  max-inline-size: 22rem;
}
:host([hidden]), [hidden] { display: none !important }
* { box-sizing: border-box }
.frame {
  display: flex; flex-direction: column; align-items: stretch; gap: 1rem;
  padding: 1.5rem; text-align: center; text-wrap: balance; line-height: 1.4;
  color: var(--_text); background: var(--_background);
  border: 1px solid var(--_border); border-radius: var(--_radius);
}
.frame:focus { outline: none }
p { margin: 0 }
.instruction { font-weight: 600 }
.ways, .code { display: flex; flex-direction: column; gap: 1rem }
.code svg { inline-size: 100%; max-inline-size: var(--vouchsafe-code-size, 16rem); margin-inline: auto;
  border-radius: 8px; forced-color-adjust: none }
a, button {
  display: block; inline-size: 100%; padding: .75rem 1rem; min-block-size: 3rem;
  font: inherit; font-weight: 600; text-decoration: none; text-align: center; cursor: pointer;
  border: 2px solid var(--_accent); border-radius: calc(var(--_radius) * .75);
}
a, .ask, .again { color: var(--_on-accent); background: var(--_accent) }
.other, .ask ~ a { color: var(--_accent); background: none; border-color: var(--_border) }
a:hover, button:hover { filter: brightness(1.1) }
:is(a, button):focus-visible { outline: 3px solid var(--_accent); outline-offset: 2px }
.state { display: flex; flex-wrap: wrap; align-items: center; justify-content: center; gap: .25rem .5rem }
.mark { flex: none; inline-size: 1.25rem; block-size: 1.25rem; fill: none; stroke: currentColor;
  stroke-width: 2.5; stroke-linecap: round; stroke-linejoin: round; color: var(--_muted) }
.time { color: var(--_muted); font-size: .875em; font-variant-numeric: tabular-nums; flex-basis: 100% }
.end .state { flex-direction: column; padding-block: .5rem }
.end .mark { inline-size: 3rem; block-size: 3rem; stroke-width: 2 }
.end .status { font-weight: 600 }
.done .mark { color: var(--_good) }
:is(.failed, .invalid, .unsupported) .mark { color: var(--_bad) }
@media (prefers-reduced-motion: no-preference) {
  :is(.preparing, .waiting, .opened) .mark { animation: turn 1.5s linear infinite }
}
@keyframes turn { to { transform: rotate(1turn) } }
`
