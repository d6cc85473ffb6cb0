/** Key management for an engine: what it answers, and what wakes it. */
import { loaded } from './blinding.ts'
// Nothing above this line may need @noble/curves.
import { component } from 'vouchsafe/component'
import { http } from './signing.ts'
import { RESEND_TIMER, stateChange } from './state-change.ts'

component({ http, stateChange, timers: { [RESEND_TIMER]: (_, context) => stateChange(context) } })
loaded()
