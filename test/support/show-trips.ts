/** Measures what requests run through, and shows the bounds of that: `node build/run.js test/support/show-trips.ts`. */
import { showTargets } from '../../bench/report.ts'
import { measureTrips } from '../../bench/trips.ts'

showTargets([await measureTrips(['files'])])
