/** Key management for an engine: what it answers, and what wakes it. */

// First: what comes after it looks for randomness while it is loaded.
import './blinding.ts'
import { ed25519 } from '@noble/curves/ed25519.js'
import { component } from 'vouchsafe/component'
import { loaded } from './blinding.ts'
import { http } from './signing.ts'
import { RESEND_TIMER, stateChange } from './state-change.ts'

// Tables that every signature needs, made once, while the script is loaded: each call begins from there.
ed25519.Point.BASE.multiply(2n)
component({ http, stateChange, timers: { [RESEND_TIMER]: (_, context) => stateChange(context) } })
loaded()
