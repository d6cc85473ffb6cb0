/** Every row of docs/compatibility.md, and the page that they make. */
import { afterAll, describe, expect, it } from 'vitest'
import type { Services } from '../support/services.ts'
import { credoRows } from './credo.ts'
import { digitalCredentialsRows } from './digital-credentials.ts'
import { isoMdocRows } from './iso-mdoc.ts'
import { mdocRows } from './mdoc.ts'
import { openid4vcRows } from './openid4vc.ts'
import { compatibilityPage, nameOf, type Result, type Row, runRow } from './rows.ts'
import { startWithAuthority } from './samples.ts'
import { sdJwtRows } from './sd-jwt.ts'
import { sphereonRows } from './sphereon.ts'

const rows: readonly Row[] = [
  ...openid4vcRows,
  ...digitalCredentialsRows,
  ...credoRows,
  ...sphereonRows,
  ...sdJwtRows,
  ...mdocRows,
  ...isoMdocRows,
]

describe('compatibility', () => {
  const results = new Map<Row, Result>()
  /** The rows by the settings of the issuance service. */
  const started = new Map<string, Promise<Services>>()
  afterAll(async () => {
    for (const services of started.values()) await (await services).close()
  })

  function servicesFor({ issuer = {} }: Row): Promise<Services> {
    const key = JSON.stringify(issuer)
    const services = started.get(key) ?? startWithAuthority({ issuer })
    started.set(key, services)
    return services
  }

  it.each(rows.map((row) => [nameOf(row), row] as const))('%s', async (_, row) => {
    const services = await servicesFor(row)
    services.clock.now = new Date()
    const result = await runRow(row, services)
    results.set(row, result)
    const { fails } = row
    expect(result).toEqual(fails ? { at: fails.at, error: expect.stringMatching(fails.error) as string } : 'done')
  })

  it('is written down as it is', async () => {
    expect(rows.filter((row) => !results.has(row)).map(nameOf)).toEqual([])
    await expect(compatibilityPage(results)).toMatchFileSnapshot('../../docs/compatibility.md')
  })
})
