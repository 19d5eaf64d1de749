/** Follows this node's Node object while the proxy runs: health depends on it, and some changes end the process. */
import type { NodeRecord } from '../../api/records.ts'
import { objectKey } from '../../api/records.ts'
import type { StartConfig } from '../../config/live/how-fields-change.ts'
import type { Catalog } from '../../core/catalog.ts'
import type { Logger } from '../../core/logger.ts'
import { nodeReactions } from '../../core/node/node-watch.ts'
import type { ProxyHealth } from '../../core/health/proxy-health.ts'
import { CommandError } from '../program.ts'
import type { Runnable } from '../run-all.ts'
import { isNodeCidrMode } from './node-at-start.ts'
import type { ThisNode } from './node-at-start.ts'

export interface NodeGuardOptions {
  readonly catalog: Catalog
  /** As it was when the proxy was set up. */
  readonly node: Pick<ThisNode, 'name' | 'record'>
  readonly config: StartConfig
  readonly health: Pick<ProxyHealth, 'setNode'>
  /** The Node has other pod CIDRs than before. */
  readonly usePodCIDRs: (podCIDRs: readonly string[]) => void
  readonly log: Logger
}

export function nodeGuard(options: NodeGuardOptions): Runnable {
  return {
    run: (signal) =>
      new Promise((resolve, reject) => {
        // An ended signal sends no event, so nothing below would end this.
        if (signal.aborted) return resolve()
        if (options.node.record !== undefined) options.health.setNode(options.node.record)
        const current = options.catalog.nodes.get(objectKey({ name: options.node.name }))
        // Only addresses of the Node object are compared with each other, not those of the command line.
        let last = options.node.record && { ...options.node.record, ips: current?.ips ?? options.node.record.ips }
        const unsubscribe = options.catalog.subscribe({
          changed(event) {
            if (event.kind !== 'Node' || event.key !== options.node.name) return
            const problem = react(last, event.current, options)
            last = withKnownPods(event.current, last)
            if (problem !== undefined) reject(problem)
          },
        })
        // The Node may have changed while the proxy was being set up.
        const missed = current === undefined ? undefined : react(last, current, options)
        last = withKnownPods(current, last)
        if (missed !== undefined) reject(missed)
        signal.addEventListener('abort', () => resolve(unsubscribe()), { once: true })
      }),
  }
}

function react(
  last: NodeRecord | undefined,
  current: NodeRecord | undefined,
  { config, health, log, node, usePodCIDRs }: NodeGuardOptions,
): CommandError | undefined {
  if (current !== undefined) health.setNode(current)
  for (const reaction of nodeReactions(last, current, { isNodeCidrMode: isNodeCidrMode(config) })) {
    if (reaction.kind === 'topology') continue // the route table follows the zone itself
    if (reaction.kind === 'pods') {
      usePodCIDRs(reaction.is)
      log.info('the Node has other pod CIDRs now', { node: node.name, was: reaction.was, is: reaction.is })
      continue
    }
    const { message, was, is } = reaction
    if (reaction.kind === 'exit')
      return new CommandError(`${message} from ${was.join()} to ${is.join()}: ending, so that a restart uses them`)
    log.warn(message, { node: node.name, was, is })
  }
  return undefined
}

function withKnownPods(current: NodeRecord | undefined, last: NodeRecord | undefined): NodeRecord | undefined {
  if (current === undefined) return last
  return current.podCIDRs.length > 0 ? current : { ...current, podCIDRs: last?.podCIDRs ?? [] }
}
