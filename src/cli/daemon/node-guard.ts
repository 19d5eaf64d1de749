/** Follows this node's Node object while the proxy runs: health depends on it, and some changes end the process. */
import type { NodeRecord } from '../../api/records.ts'
import { objectKey } from '../../api/records.ts'
import type { Catalog } from '../../core/catalog.ts'
import type { Logger } from '../../core/logger.ts'
import { nodeReactions } from '../../core/node/node-watch.ts'
import type { ProxyHealth } from '../../core/health/proxy-health.ts'
import { CommandError } from '../program.ts'
import type { Runnable } from '../run-all.ts'

export interface NodeGuardOptions {
  readonly catalog: Catalog
  readonly nodeName: string
  /** The Node as it was when the proxy was set up. */
  readonly node: NodeRecord | undefined
  readonly isNodeCidrMode: boolean
  readonly health: Pick<ProxyHealth, 'setNode'>
  readonly log: Logger
}

export function nodeGuard(options: NodeGuardOptions): Runnable {
  return {
    run: (signal) =>
      new Promise((resolve, reject) => {
        // Told to end while the proxy was being set up: no event would say so again.
        if (signal.aborted) return resolve()
        if (options.node !== undefined) options.health.setNode(options.node)
        const current = options.catalog.nodes.get(objectKey({ name: options.nodeName }))
        // Addresses given on the command line are not the Node's, and are none of what is compared.
        let last = options.node && { ...options.node, ips: current?.ips ?? options.node.ips }
        const unsubscribe = options.catalog.subscribe({
          changed(event) {
            if (event.kind !== 'Node' || event.key !== options.nodeName) return
            const problem = react(last, event.current, options)
            last = event.current ?? last
            if (problem !== undefined) reject(problem)
          },
        })
        // What changed while the proxy was being set up.
        const missed = current === undefined ? undefined : react(last, current, options)
        last = current ?? last
        if (missed !== undefined) reject(missed)
        signal.addEventListener('abort', () => resolve(unsubscribe()), { once: true })
      }),
  }
}

function react(
  last: NodeRecord | undefined,
  current: NodeRecord | undefined,
  { isNodeCidrMode, health, log, nodeName }: NodeGuardOptions,
): CommandError | undefined {
  if (current !== undefined) health.setNode(current)
  for (const reaction of nodeReactions(last, current, { isNodeCidrMode })) {
    if (reaction.kind === 'topology') continue // the route table follows the zone itself
    const { message, was, is } = reaction
    if (reaction.kind === 'exit')
      return new CommandError(`${message} from ${was.join()} to ${is.join()}: ending, so that a restart uses them`)
    log.warn(message, { node: nodeName, was, is })
  }
  return undefined
}
