/** Checks the signing keys and their certificates: keys in files must be private, and keys in tokens must sign. */
import { type NamedKey, namedKeys } from '../../config/service-keys.ts'
import { readSigningKey } from '../../config/signing.ts'
import type { SigningKey } from '../../keys/key-ring.ts'
import { findSigningProblem } from '../../keys/pkcs11/check.ts'
import { pkcs11Tokens } from '../effects.ts'
import { findPreviousFindings, findSigningFindings } from './certificates.ts'
import type { DoctorInput } from './doctor-input.ts'
import { type Finding, makeFinding } from './finding.ts'
import { findPrivateFileFindings } from './private-file.ts'

/** Returns the findings about each key of `signing` and `keys`, and the key of `signing` if it can be read. */
export async function findSigningKeyFindings(
  input: DoctorInput,
): Promise<{ readonly findings: readonly Finding[]; readonly signingKey: SigningKey | undefined }> {
  const { settings, at, signs, files } = input
  const { signing, keys } = settings
  const uses = signing === undefined ? [] : namedKeys({ signing, ...(keys && { keys }) }, signs)
  const keyResults = uses.map(({ setting, ...use }) => readSigningKey({ ...use, now: at }, setting, files))
  const usableKeys = keyResults.map((each) => ('mistakes' in each ? undefined : each))
  const findings = await Promise.all(uses.map((key, index) => findKeyFindings(key, usableKeys[index], at)))
  return { findings: findings.flat(), signingKey: usableKeys[0] }
}

async function findKeyFindings(
  { settingPath, isPrevious, setting }: NamedKey,
  key: SigningKey | undefined,
  at: Date,
): Promise<Finding[]> {
  const { keyFile, pkcs11 } = setting
  const find = isPrevious ? findPreviousFindings : findSigningFindings
  const secretFile = pkcs11?.pinFile ?? keyFile
  const problem = key && 'pkcs11Key' in key ? await findSigningProblem(key, pkcs11Tokens) : undefined
  return [
    ...(problem === undefined ? [] : [makeFinding(`${settingPath}.pkcs11`, 'problem', problem)]),
    ...(key === undefined || problem !== undefined ? [] : find(settingPath, key.chain, at)),
    ...(secretFile === undefined ? [] : findPrivateFileFindings(settingPath, secretFile)),
  ]
}
