/** A log of checks that keeps nothing. */
import { pino } from 'pino'
import type { CheckRun } from '../../src/check/check.ts'

export const silentLog: CheckRun = { logger: pino({ level: 'silent' }), requestId: 'a-request' }
