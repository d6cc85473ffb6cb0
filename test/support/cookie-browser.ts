/** A browser without scripts, for pages of a sign-in over sockets. */
import { expect } from 'vitest'

/** Makes a browser with cookies, which follows redirects and fills in forms as a person does. */
export function cookieBrowser() {
  const jar = new Map<string, string>()
  const pages: { readonly status: number; readonly text: string }[] = []
  const open = async (address: string, form?: Readonly<Record<string, string>>): Promise<string> => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const body = form && new URLSearchParams(form).toString()
    const response = await fetch(address, {
      redirect: 'manual',
      headers: {
        accept: 'text/html',
        cookie,
        ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(form && { method: 'POST', body: body ?? '' }),
    })
    for (const pair of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(pair) ?? []
      jar.set(name, value)
    }
    const location = response.headers.get('location')
    const text = await response.text()
    if (location !== null) return open(new URL(location, address).href)
    pages.push({ status: response.status, text })
    expect([address, response.status]).toEqual([address, 200])
    return text
  }
  return { open, pages, last: () => pages.at(-1) }
}
