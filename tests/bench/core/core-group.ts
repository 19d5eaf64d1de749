/** The brain and its source: start-up, memory, and the cost of a change. */
import type { BenchGroup } from '../bench-group.ts'
import { compileScripts } from '../compiled-scripts.ts'
import { ApiServer } from './api-server.ts'
import { coldStart } from './cold-start.ts'
import { oneChange } from './one-change.ts'
import { buildClientGo, fairlead, scripts } from './programs.ts'
import { watchToView } from './watch-to-view.ts'

const services = 10_000

export const coreGroup: BenchGroup = {
  name: 'core',
  async run(options) {
    options.progress('compiling what is measured, and building the peer')
    await compileScripts()
    const peers = await buildClientGo().then(
      (clientGo) => [clientGo],
      (error: Error) => {
        options.progress(`measuring without client-go: ${error.message}`)
        return []
      },
    )
    await using server = await ApiServer.start(scripts.apiServer, services)
    const bench = { server, services, programs: [fairlead, ...peers] }
    return [await coldStart(bench, options), await oneChange(options), await watchToView(bench, options)]
  },
}
