/** Measures what requests run through, and shows the bounds of that: `node build/run.js bench/show-trips.ts`. */
import { showTargets } from './report.ts'
import { measureTrips } from './trips.ts'

showTargets([await measureTrips(['files'])])
