/** A log of checks that keeps nothing. */
import { pino } from 'pino'
import type { CheckLog } from '../../src/check/check.ts'

export const silentLog: CheckLog = { logger: pino({ level: 'silent' }), requestId: 'a-request' }
