import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { endFirstProcessOnSignal } from './first-process.ts'

/** Makes a process that records how it ends, with the handlers of the start. */
function startedAs(pid: number) {
  const ends: number[] = []
  const started = Object.assign(new EventEmitter(), { pid, exit: (status: number) => void ends.push(status) })
  endFirstProcessOnSignal(started)
  return { started, ends }
}

describe('the first process of a container', () => {
  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ])('ends by %s with %i, as a shell says it of any process', (signal, status) => {
    const { started, ends } = startedAs(1)
    started.emit(signal)
    expect(ends).toEqual([status])
  })

  it('leaves a signal to the command that listens to it, and ends by the next one when the command listens no more', () => {
    const { started, ends } = startedAs(1)
    let heard = 0
    started.once('SIGTERM', () => heard++)
    started.emit('SIGTERM')
    expect([heard, ends]).toEqual([1, []])
    started.emit('SIGTERM')
    expect([heard, ends]).toEqual([1, [143]])
  })
})

it('every other process has the signals of the system', () => {
  expect(startedAs(2).started.eventNames()).toEqual([])
})
