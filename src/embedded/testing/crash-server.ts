/** An API server in a process of its own, so that a test can kill it: `crash-server.ts <data directory>`. */
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import { startApiServer } from '../api-server.ts'
import { allResources } from '../resources/all-resources.ts'

const [dataDir = ''] = process.argv.slice(2)
const server = await startApiServer({
  resources: allResources,
  clock: systemClock,
  log: silentLogger,
  dataDir,
  // Small, so that kills also hit compactions.
  compactAboveBytes: 50_000,
})
process.stdout.write(`${server.url}\n`)
