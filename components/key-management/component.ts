/** Key management for an engine: what it answers, and what wakes it. */
import { component } from 'vouchsafe/component'
import { http } from './signing.ts'
import { RESEND_TIMER, stateChange } from './state-change.ts'

component({ http, stateChange, timers: { [RESEND_TIMER]: (_, context) => stateChange(context) } })
