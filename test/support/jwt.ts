/** JWTs of a test, which differ from right ones as it wants. */
import type { JsonObject } from '../../src/codec/json.ts'
import { writeJws } from '../../src/codec/jws.ts'
import type { Signer } from '../../src/keys/signer.ts'

/** Members set to undefined are left out, others replace those of a right JWT. */
export interface JwtChanges {
  readonly header?: Readonly<Record<string, unknown>>
  readonly payload?: Readonly<Record<string, unknown>>
  readonly sign?: (data: Uint8Array) => Promise<Uint8Array>
}

/** Makes the function of a table of attacks that returns changes of the header. */
export const header = (changes: Record<string, unknown>) => (): JwtChanges => ({ header: changes })

/** Makes the function of a table of attacks that returns changes of the payload. */
export const payload = (changes: Record<string, unknown>) => (): JwtChanges => ({ payload: changes })

/** Writes a JWT that is right but for the changes. */
export function writeChangedJwt(
  signer: Signer,
  right: { readonly header: object; readonly payload: object },
  { header, payload, sign }: JwtChanges,
): Promise<string> {
  return writeJws(
    { alg: signer.alg, ...right.header, ...header },
    { ...right.payload, ...payload } as JsonObject,
    sign ?? ((data) => signer.sign(data)),
  )
}
