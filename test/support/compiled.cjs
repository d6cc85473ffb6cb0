/**
 * Takes the compiled code of the command's bundles from files, which spares a third of a start; each process that a
 * test starts requires this file first, and so do its threads. `compiled.ts` makes the files, by processes in which
 * VOUCHSAFE_TEST_COMPILE is set.
 */
const { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } = require('node:fs')
const Module = require('node:module')
const { basename, dirname, join } = require('node:path')
const v8 = require('node:v8')
const { Script, constants } = require('node:vm')
const { isMainThread } = require('node:worker_threads')

const root = join(__dirname, '..', '..')
const place = join(root, 'node_modules', `.compiled-${process.version}`)
const isMaking = process.env.VOUCHSAFE_TEST_COMPILE !== undefined
const compile = Module.prototype._compile
// V8 refuses code that was compiled under other flags than those of the process that takes it.
if (isMaking) v8.setFlagsFromString = () => {}

// Functions that run until the end of a process are compiled then; a thread may be ended at any time.
const atExit = []
if (isMaking && isMainThread) {
  process.on('exit', () => {
    for (const write of atExit) write()
  })
}

Module.prototype._compile = function (content, filename, ...rest) {
  const isOurs = [join(root, 'dist'), join(root, 'dist', 'parts')].includes(dirname(filename))
  const file = isOurs ? placeOf(filename) : undefined
  const isThere = file !== undefined && existsSync(file)
  if (file === undefined || (!isThere && !isMaking)) return compile.call(this, content, filename, ...rest)
  const script = new Script(Module.wrap(content.replace(/^#!/, '//')), {
    filename,
    ...(isThere && { cachedData: readFileSync(file) }),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
  const write = () => {
    mkdirSync(place, { recursive: true })
    writeFileSync(file, script.createCachedData())
  }
  const require = Module.createRequire(filename)
  if (!isThere && isMainThread) atExit.push(write)
  const result = script.runInThisContext().call(this.exports, this.exports, require, this, filename, dirname(filename))
  if (!isThere && !isMainThread) write()
  return result
}

/** Returns the file with the compiled code of a bundle, as it was built last. */
function placeOf(filename) {
  const { mtimeMs, size } = statSync(filename)
  return join(place, `${basename(filename)}-${mtimeMs}-${size}`)
}
