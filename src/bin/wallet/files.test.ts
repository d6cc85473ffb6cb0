/** The attestation in the directory of the wallet. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/command.ts'
import { makeInstance, makeProvider, walletAttestation } from '../../../test/support/wallet-attestation.ts'
import { makePrivateJwk, publicPartOf } from '../../keys/private-jwk.ts'
import { random } from '../effects.ts'
import { readAttestationFile } from './files.ts'

it('is read with its key, is absent where there is no file, and is told of when it is damaged', async () => {
  const home = temporaryDirectory()
  expect(await readAttestationFile(home)).toBe(undefined)
  const key = makePrivateJwk(random)
  const attestation = await walletAttestation(await makeInstance(await makeProvider()), new Date())
  const path = join(home, 'wallet-attestation.json')
  writeFileSync(path, JSON.stringify({ attestation, key }))
  const read = await readAttestationFile(home)
  expect([read?.jwt, read?.key.jwk]).toEqual([attestation, publicPartOf(key)])
  for (const damaged of [{ key }, { attestation: 'x', key }, { attestation }]) {
    writeFileSync(path, JSON.stringify(damaged))
    await expect(readAttestationFile(home)).rejects.toThrow(/wallet-attestation\.json is not a wallet attestation/)
  }
})
