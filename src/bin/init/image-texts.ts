/** The parts of the texts of `vouchsafe init` that differ in an image: there, other containers use the new files. */
import { existsSync, realpathSync } from 'node:fs'
import { isInContainer } from '../network/network.ts'
import type { ServiceName } from '../service/service-kind.ts'
import { commandName, FILE_IN_IMAGE, shellWord } from '../terminal/command-line.ts'

/** Tests whether the command is that of an image of the Dockerfile, as its first process or by its name. */
export function isInImage(): boolean {
  const [, file = ''] = process.argv
  const target = existsSync(file) ? realpathSync(file) : file
  return isInContainer() && target === FILE_IN_IMAGE
}

/**
 * Returns how the texts name the directory that was written: in an image, as one of this container, since it has
 * another name outside.
 */
export function writtenPlace(directory: string): string {
  return isInImage() ? `${directory} of this container` : directory
}

/** Returns what an address on loopback means. */
export function thisPlace(): string {
  return isInImage() ? 'this container' : 'this machine'
}

/** The files that containers of an image need to start the service, as the end of the sentence of {@link startStep}. */
const FILES_IN_CONTAINER = `, in containers of this image that have the new conf
     at /srv/vouchsafe/conf and a volume at /srv/vouchsafe/data, as in
     docs/how-to/containers.md:
`

/** Returns the step that checks a service and starts it. Without a directory, an earlier step has gone there. */
export function startStep(service: ServiceName, directory?: string): string {
  const change = directory === undefined ? '' : `\n       cd ${shellWord(directory)}`
  return `Check it, and start it${isInImage() ? FILES_IN_CONTAINER : `:\n${change}`}
       ${commandName()} doctor ${service}
       ${commandName()} ${service}
`
}
