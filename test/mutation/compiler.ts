/** Tells whether the compiler refuses a mutant; such a mutant needs no test. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

export type Compiles = (file: string, text: string) => boolean

export function compilerOf(root: string): Compiles {
  const config = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path))
  const { options, fileNames } = ts.parseJsonConfigFileContent(config.config, ts.sys, root)
  const changed = new Map<string, { version: number; text: string }>()
  const textOf = (path: string): string | undefined => changed.get(path)?.text ?? ts.sys.readFile(path)
  const service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => fileNames,
    getScriptVersion: (path) => String(changed.get(path)?.version ?? 0),
    getScriptSnapshot: (path) => {
      const text = textOf(path)
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
    },
    getCurrentDirectory: () => root,
    getDefaultLibFileName: (each) => ts.getDefaultLibFilePath(each),
    fileExists: (path) => ts.sys.fileExists(path),
    readFile: (path) => ts.sys.readFile(path),
    directoryExists: (path) => ts.sys.directoryExists(path),
    getDirectories: (path) => ts.sys.getDirectories(path),
  })
  return (file, text) => {
    const path = join(root, file)
    const set = (next: string) => changed.set(path, { version: (changed.get(path)?.version ?? 0) + 1, text: next })
    set(text)
    // An unused thing is not an error of this kind: the mutant runs.
    const unused = [6133, 6192, 6196, 6198]
    const errors = [...service.getSyntacticDiagnostics(path), ...service.getSemanticDiagnostics(path)]
    set(readFileSync(path, 'utf8'))
    return errors.every(({ code }) => unused.includes(code))
  }
}
