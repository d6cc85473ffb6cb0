/** The parts of a page that are about one service each, and go on without one another. */
import { type ClientName, issuerClient, type Services, verifierClient } from './clients.ts'
import { drawError, element } from './dom.ts'

const TITLES = { issuer: 'Issuer', verifier: 'Verifier' } as const

/** Returns the client of the service, as far as both services have the same. */
export function clientOf(name: ClientName): typeof issuerClient | typeof verifierClient {
  return name === 'issuer' ? issuerClient : verifierClient
}

/** Adds a section for each service, and fills all at once; a service that does not answer spoils its own alone. */
export async function drawServiceSections(
  main: HTMLElement,
  services: Services,
  fill: (place: HTMLElement, name: ClientName) => Promise<void>,
): Promise<void> {
  const names = (['issuer', 'verifier'] as const).filter((name) => services[name] !== undefined)
  await Promise.all(
    names.map(async (name) => {
      const place = element('div', {}, element('p', { class: 'quiet' }, 'Asking the service …'))
      // The heading takes the focus when what had it is gone.
      const heading = element('h2', { tabindex: '-1' }, TITLES[name])
      main.append(element('section', { class: 'card', id: name }, heading, place))
      await fill(place, name).catch((error: unknown) => place.replaceChildren(drawError(error)))
    }),
  )
}
