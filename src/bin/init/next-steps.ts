/** The parts of the texts of `vouchsafe init` that differ in an image: there, other containers use the new files. */
import { existsSync, realpathSync } from 'node:fs'
import { commandName, FILE_IN_IMAGE, shellWord } from '../command-line.ts'
import { isInContainer } from '../network.ts'
import type { KindName } from '../service/service-kind.ts'

/** Tests whether the command is that of an image of the Dockerfile, as its first process or by its name. */
export function isInImage(): boolean {
  const [, file = ''] = process.argv
  const target = existsSync(file) ? realpathSync(file) : file
  return isInContainer() && target === FILE_IN_IMAGE
}

/** Returns how the texts name the directory that was written: in an image, by the name that it has for the files. */
export function writtenPlace(directory: string): string {
  return isInImage() ? `${directory} of this container` : directory
}

/** Returns what an address on loopback means. */
export function thisPlace(): string {
  return isInImage() ? 'this container' : 'this machine'
}

/** The place where a container of an image has the files, as an ending of the sentence. */
const IN_IMAGE = `, in containers of this image that have the new conf
     at /srv/vouchsafe/conf and a volume at /srv/vouchsafe/data, as in
     docs/how-to/containers.md:
`

/** Returns the step that checks a service and starts it. Without a directory, an earlier step has gone there. */
export function startStep(service: KindName, directory?: string): string {
  const change = directory === undefined ? '' : `\n       cd ${shellWord(directory)}`
  return `Check it, and start it${isInImage() ? IN_IMAGE : `:\n${change}`}
       ${commandName()} doctor ${service}
       ${commandName()} ${service}
`
}
