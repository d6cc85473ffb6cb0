/** A text of JSON to edit, with the number of each line and the mistake beside its own. */
import { element, shownText } from './dom.ts'
import { lineOfPath, lineOfSyntaxError } from './json-place.ts'

export interface JsonEditor {
  readonly drawn: HTMLElement
  readonly text: HTMLTextAreaElement
  /** Replaces the text. */
  write(value: unknown): void
  /** Reads the value of the text; undefined when it is not JSON, and then the mistake is shown. */
  read(): unknown
  /** Shows a mistake of the value, beside the line whose path it names. */
  showError(error: unknown): void
  clearError(): void
}

/** A path at the beginning of what a service says about a value, after the name of the member that had the value. */
const NAMED_PATH = /^(?:dcql_query|body)?\.?([\w.[\]-]+): /
let editors = 0

export function createJsonEditor(label: string, onInput: () => void): JsonEditor {
  const { drawn, text, numberLines, showMistake, clear: clearError } = drawEditor(label)
  const editor: JsonEditor = {
    drawn,
    text,
    write: (value) => {
      text.value = writeJson(value)
      numberLines()
      clearError()
    },
    read: () => {
      clearError()
      try {
        return JSON.parse(text.value) as unknown
      } catch (error) {
        showMistake(lineOfSyntaxError(text.value), (error as Error).message)
        return undefined
      }
    },
    showError: (error) => {
      const { message } = error as Error
      const path = NAMED_PATH.exec(message)?.[1]
      clearError()
      showMistake(path === undefined ? undefined : lineOfPath(text.value, path), message)
    },
    clearError,
  }
  text.addEventListener('input', () => {
    numberLines()
    onInput()
  })
  return editor
}

/** Writes a value with each array of plain values in one line. No string of JSON has a line break of its own. */
function writeJson(value: unknown): string {
  const text = JSON.stringify(value, null, 2)
  return text.replaceAll(/\[\n[^[\]{}]+\n *\]/g, (array) =>
    array.replaceAll(/(?<=\[)\n *|\n *(?=\]$)/g, '').replaceAll(/\n */g, ' '),
  )
}

/** Draws the text with its numbers and its place for a mistake, and gives the functions that change these. */
function drawEditor(label: string) {
  editors += 1
  const id = `json-${editors}`
  const note = `${id}-note`
  const text = element('textarea', { id, rows: '8', spellcheck: 'false', wrap: 'off', 'aria-describedby': note })
  const numbers = element('div', { class: 'numbers', 'aria-hidden': 'true' })
  const problem = element('p', { class: 'problem', role: 'alert', id: note, hidden: true })
  const lines = element('div', { class: 'lines' }, numbers, text)
  return {
    drawn: element('div', { class: 'editor' }, element('label', { for: id }, label), lines, problem),
    text,
    numberLines: (): void => {
      const count = text.value.split('\n').length
      text.rows = count + 1
      numbers.replaceChildren(...Array.from({ length: count }, (_, index) => element('span', {}, String(index + 1))))
    },
    showMistake: (line: number | undefined, message: string): void => {
      numbers.children[(line ?? 0) - 1]?.classList.add('wrong')
      text.setAttribute('aria-invalid', 'true')
      problem.textContent = shownText(line === undefined ? message : `Line ${line}: ${message}`)
      problem.hidden = false
    },
    clear: (): void => {
      for (const each of numbers.children) each.classList.remove('wrong')
      text.removeAttribute('aria-invalid')
      problem.hidden = true
    },
  }
}
