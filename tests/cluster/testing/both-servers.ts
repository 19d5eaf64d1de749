import { systemClock } from '../../../src/core/clock.ts'
import { silentLogger } from '../../../src/core/logger.ts'
import { startApiServer } from '../../../src/embedded/api-server.ts'
import { allResources } from '../../../src/embedded/resources/all-resources.ts'
import { ApiClient, fetchRequests } from '../../../src/embedded/testing/api-client.ts'
import { startControlPlane } from './control-plane.ts'

export interface BothServers extends AsyncDisposable {
  /** Of the embedded API server. */
  readonly ours: ApiClient
  /** Of the real one. */
  readonly theirs: ApiClient
}

/** The embedded API server and a real one with the same settings, to be asked the same questions. */
export async function startBothServers(): Promise<BothServers> {
  const cluster = await startControlPlane()
  const embedded = await startApiServer({
    resources: allResources,
    clock: systemClock,
    log: silentLogger,
    // The real one has no controllers either.
    mirrorsEndpoints: false,
    serviceCidrs: ['10.96.0.0/16', 'fd00:10:96::/112'],
  })
  return {
    ours: new ApiClient(fetchRequests(embedded.url)),
    theirs: cluster.client,
    async [Symbol.asyncDispose]() {
      await embedded[Symbol.asyncDispose]()
      await cluster[Symbol.asyncDispose]()
    },
  }
}
