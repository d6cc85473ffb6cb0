/** Secret sharing for an engine: what it answers, and what wakes it. */
import { component } from 'vouchsafe/component'
import { DELETION_TIMER, deleteShares } from './deletions.ts'
import { http, stateChange } from './shares.ts'
import { announceCollected, COLLECTED_TIMER, RESEND_TIMER } from './unconfirmed.ts'

component({
  http,
  stateChange,
  timers: {
    [RESEND_TIMER]: (_, context) => stateChange(context),
    [COLLECTED_TIMER]: (_, context) => announceCollected(context),
    [DELETION_TIMER]: (_, context) => deleteShares(context),
  },
})
