/** Keeps a page as new as its service, quietly: what has not changed stays, and with it focus and selection. */

/**
 * Draws again and again while somebody looks at the page, each time `everyMs` after the last drawing ended, until
 * another page is shown. A drawing that fails is left to the next.
 */
export function keepFresh(draw: () => Promise<void>, everyMs: number, signal: AbortSignal): void {
  // Undefined while it draws.
  let timer: ReturnType<typeof setTimeout> | undefined
  const wait = (): void => {
    if (!signal.aborted) timer = setTimeout(drawNow, everyMs)
  }
  const drawNow = (): void => {
    timer = undefined
    const drawn = document.hidden ? Promise.resolve() : draw()
    void drawn.catch(() => undefined).then(wait)
  }
  // A page that was hidden is drawn as soon as it is seen.
  const onSeen = (): void => {
    if (document.hidden || timer === undefined) return
    clearTimeout(timer)
    drawNow()
  }
  document.addEventListener('visibilitychange', onSeen, { signal })
  signal.addEventListener('abort', () => clearTimeout(timer))
  wait()
}

/**
 * Makes the children of `place` those of `fresh`; only what differs takes the place of what was there. Of children with
 * a `data-key`, new ones may come before others.
 */
export function updateChildren(place: Element, fresh: Element | DocumentFragment): void {
  const nodes = [...fresh.childNodes]
  for (const [index, node] of nodes.entries()) {
    const old = place.childNodes[index]
    if (old === undefined) place.append(node)
    else if (keyOf(old) !== keyOf(node) && nodes.slice(index).some((later) => keyOf(later) === keyOf(old))) {
      old.before(node)
    } else if (!old.isEqualNode(node)) updateNode(old, node)
  }
  for (const node of [...place.childNodes].slice(nodes.length)) node.remove()
}

function keyOf(node: ChildNode): string | undefined {
  return node instanceof HTMLElement ? node.dataset.key : undefined
}

function updateNode(old: ChildNode, fresh: ChildNode): void {
  const isSame = old instanceof Element && fresh instanceof Element && old.tagName === fresh.tagName
  if (!isSame) {
    old.replaceWith(fresh)
    return
  }
  const names = new Set([...old.getAttributeNames(), ...fresh.getAttributeNames()])
  // A part that somebody has opened or closed stays so.
  names.delete('open')
  for (const name of names) {
    const value = fresh.getAttribute(name)
    if (value === null) old.removeAttribute(name)
    else if (old.getAttribute(name) !== value) old.setAttribute(name, value)
  }
  updateChildren(old, fresh)
}
