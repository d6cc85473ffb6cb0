/**
 * The supported signature algorithms. Each belongs to one curve, so a key has exactly one algorithm. RFC 7518 section
 * 3.4, RFC 8037, RFC 9864 for JOSE; RFC 9053 and RFC 9864 for COSE.
 */
import type { KeyObject } from 'node:crypto'

export type Algorithm = keyof typeof algorithms

export interface AlgorithmDetails {
  /** All JOSE names of the algorithm; the first is used in new signatures. */
  readonly jose: readonly string[]
  /** All COSE identifiers of the algorithm; the first is used in new signatures. */
  readonly cose: readonly number[]
  readonly crv: 'P-256' | 'P-384' | 'P-521' | 'Ed25519'
  /** The name of the curve in `node:crypto`; undefined for Ed25519, which is a key type of its own. */
  readonly namedCurve: string | undefined
  readonly digest: string | undefined
  /** The size of a coordinate, or of an Ed25519 public key, in bytes. */
  readonly size: number
}

export const algorithms = {
  ES256: { jose: ['ES256'], cose: [-7, -9], crv: 'P-256', namedCurve: 'prime256v1', digest: 'sha256', size: 32 },
  ES384: { jose: ['ES384'], cose: [-35, -51], crv: 'P-384', namedCurve: 'secp384r1', digest: 'sha384', size: 48 },
  ES512: { jose: ['ES512'], cose: [-36, -52], crv: 'P-521', namedCurve: 'secp521r1', digest: 'sha512', size: 66 },
  EdDSA: {
    jose: ['EdDSA', 'Ed25519'],
    cose: [-8, -19],
    crv: 'Ed25519',
    namedCurve: undefined,
    digest: undefined,
    size: 32,
  },
} as const satisfies Record<string, AlgorithmDetails>

/** The JOSE names of all supported algorithms, for metadata. */
export const joseAlgorithms: readonly string[] = Object.values(algorithms).flatMap(({ jose }) => jose)

/** The COSE identifiers of all supported algorithms, for metadata. */
export const coseAlgorithms: readonly number[] = Object.values(algorithms).flatMap(({ cose }) => cose)

/** Returns the algorithm of a private or public key; undefined if it is not supported. */
export function algorithmOf(key: KeyObject): Algorithm | undefined {
  if (key.asymmetricKeyType === 'ed25519') return 'EdDSA'
  const namedCurve = key.asymmetricKeyType === 'ec' ? key.asymmetricKeyDetails?.namedCurve : undefined
  if (namedCurve === undefined) return undefined
  return (Object.keys(algorithms) as Algorithm[]).find((name) => algorithms[name].namedCurve === namedCurve)
}
