/**
 * A test wallet provider: a directory with a key and its certificate, which attests any wallet. A real provider checks
 * the device first. OpenID4VCI 1.0, Wallet Attestations in JWT format.
 */
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { isObject, type JsonObject, memberOf, parseJsonObject, stringsIn } from '../../codec/json.ts'
import { writeJws } from '../../codec/jws.ts'
import { readOrUndefined, readPart } from '../../codec/malformed.ts'
import { epochSeconds } from '../../codec/time.ts'
import { readPemCertificates } from '../../keys/certificate.ts'
import { createSigner, privateJwkOf, readPrivateKey } from '../../keys/file-signer.ts'
import { importPrivateKey } from '../../keys/private-jwk.ts'
import type { Signer } from '../../keys/signer.ts'
import { PUBLIC_CLIENT } from '../../wallet/client-attestation.ts'
import type { KeyAttester } from '../../wallet/context.ts'
import { readOrRefuseWith, refuseWith } from '../../wallet/error.ts'
import { makeHolderKey } from '../../wallet/holder-key.ts'
import { now, random } from '../effects.ts'

/** The files of a provider. */
export const PROVIDER_KEY = 'provider.key'
export const PROVIDER_CERTIFICATE = 'provider.pem'

const VALID_SECONDS = 30 * 86_400
const KEYS_VALID_SECONDS = 300
const LEVELS = ['key_storage', 'user_authentication'] as const

export interface TestAttestation {
  /** The text of the attestation file. */
  readonly text: string
  readonly until: Date
}

/**
 * Attests a wallet with the provider in the directory. `before` is the text of its current attestation, whose key is
 * kept, since refresh tokens are bound to it. Refuses with `unsupported` a directory without a provider.
 */
export async function attestForTests(directory: string, before: string | undefined): Promise<TestAttestation> {
  const provider = await readProvider(directory)
  const previousKey = before === undefined ? undefined : readKeyIn(before)
  const privateKey = previousKey === undefined ? makeHolderKey(random) : importPrivateKey(previousKey)
  const { jwk } = createSigner(privateKey, [])
  const issuedAt = epochSeconds(now())
  const expiresAt = issuedAt + VALID_SECONDS
  const attestation = await writeJws(
    { typ: 'oauth-client-attestation+jwt', alg: provider.alg, x5c: [...provider.x5c] },
    {
      // Draft 7 of the attestations, which HAIP 1.0 names, requires `iss`; later drafts have none.
      iss: 'urn:vouchsafe:test-wallet-provider',
      // All wallets of a provider have the same `sub`, so that it identifies nobody. HAIP 1.0, Wallet Attestation.
      sub: PUBLIC_CLIENT,
      wallet_name: 'Vouchsafe reference wallet',
      iat: issuedAt,
      exp: expiresAt,
      cnf: { jwk: { ...jwk } },
    },
    (data) => provider.sign(data),
  )
  const storedAttestation = { attestation, key: privateJwkOf(privateKey), provider: resolve(directory) }
  const text = `${JSON.stringify(storedAttestation, null, 2)}\n`
  return { text, until: new Date(expiresAt * 1000) }
}

/** Creates an attester of keys, with the provider that attested the wallet. */
export function keyAttesterOf(directory: string): KeyAttester {
  return async (keys, { nonce, requirements }) => {
    const provider = await readProvider(directory)
    const issuedAt = epochSeconds(now())
    return writeJws(
      { typ: 'key-attestation+jwt', alg: provider.alg, x5c: [...provider.x5c] },
      {
        iat: issuedAt,
        exp: issuedAt + KEYS_VALID_SECONDS,
        attested_keys: keys.map((key) => ({ ...key })),
        ...(nonce && { nonce }),
        ...firstLevels(requirements),
      },
      (data) => provider.sign(data),
    )
  }
}

/** Returns levels that the issuer accepts: a test provider attests whatever is required. */
function firstLevels(requirements: JsonObject): JsonObject {
  return Object.fromEntries(
    LEVELS.flatMap((name) => {
      const [first] = stringsIn(memberOf(requirements, name))
      return first === undefined ? [] : [[name, [first]] as const]
    }),
  )
}

async function readProvider(directory: string): Promise<Signer> {
  const key = await readProviderFile(directory, PROVIDER_KEY)
  const certificate = await readProviderFile(directory, PROVIDER_CERTIFICATE)
  return readOrRefuseWith('unsupported', `${directory} is not a provider of wallets for tests`, () =>
    createSigner(
      readPart(PROVIDER_KEY, () => readPrivateKey(key)),
      readPart(PROVIDER_CERTIFICATE, () => readPemCertificates(certificate)),
    ),
  )
}

function readProviderFile(directory: string, name: string): Promise<string> {
  return readFile(join(directory, name), 'utf8').catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException
    const how = 'vouchsafe init issuer --profile haip makes a provider for tests'
    return refuseWith('unsupported', `${join(directory, name)} cannot be read (${code ?? message}); ${how}`, error)
  })
}

function readKeyIn(text: string): JsonObject | undefined {
  const key = readOrUndefined(() => memberOf(parseJsonObject(text), 'key'))
  return isObject(key) ? key : undefined
}
