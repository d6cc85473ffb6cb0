/** Parts of requests that every endpoint can be sent: forms, headers, paths and bodies in which something has grown. */
import type { CostRequest, CostTarget } from './cost-world.ts'
import { type Growth, grownHeader, grownText } from './growth.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
export const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** Returns the fields of a form with what has grown among them, or a body that has grown as a whole. */
export function formOf(fields: Readonly<Record<string, string>>, growths: readonly Growth[]): string {
  const more = growths.filter(({ place }) => place.startsWith('form.'))
  const grownFields = more.map((growth) => {
    const name = growth.place.slice(5)
    return [name, (growth.isAdded ? (fields[name] ?? '') : '') + grownText(growth)] as const
  })
  const text = new URLSearchParams({ ...fields, ...Object.fromEntries(grownFields) }).toString()
  const behind = growths.filter(({ place }) => place === 'form').map((growth) => `&${grownText(growth)}`)
  const whole = growths.find(({ place }) => place === 'whole')
  return whole === undefined ? text + behind.join('') : grownText(whole)
}

/** Makes a target of requests without a session, with any headers: the first thing that a stranger can send. */
export function bare(service: CostRequest['service'], method: string, path: string, type = JSON_TYPE): CostTarget {
  const headers = [
    'accept',
    'accept-encoding',
    'if-none-match',
    'content-type',
    'authorization',
    'dpop',
    'origin',
    'cookie',
  ]
  return {
    name: `${service} ${method} ${path}`,
    isRefused: true,
    bytes: 280_000,
    places: [...headers, 'x-forwarded-for', 'path', 'query', ...(method === 'POST' ? ['body', 'body'] : [])],
    make: (_, growths) => {
      const of = (place: string) => growths.filter((growth) => growth.place === place)
      const [end, query] = ['path', 'query'].map((place) =>
        of(place).map((growth) => encodeURI(grownHeader(growth, 6000).replace(/[/\\]{2,}/g, '/'))),
      )
      const headerGrowths = growths.filter(({ place }) => headers.includes(place) || place === 'x-forwarded-for')
      const body = of('body')
        .map((growth) => grownText(growth))
        .join('')
      return Promise.resolve({
        ...{ service, method, path: `${path}${end?.join('') ?? ''}${query?.length ? `?${query.join('&')}` : ''}` },
        headers: {
          ...type,
          ...Object.fromEntries(headerGrowths.map((growth) => [growth.place, grownHeader(growth)])),
        },
        ...(body === '' ? {} : { body }),
      })
    },
  }
}
