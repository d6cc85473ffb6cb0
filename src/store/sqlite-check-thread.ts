/** The program of the thread that checks a database for damage; bundled into a separate file (`build/bundle.js`). */
import { serveRequests } from '../thread/worker-server.ts'
import { findDamage } from './sqlite-check.ts'

// A read-only connection creates no file when the database was just removed.
serveRequests((file: string) => findDamage(file, Infinity, { readOnly: true }))
