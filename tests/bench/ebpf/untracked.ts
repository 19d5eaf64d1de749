/** While it is there, the node does not track packets from pod to pod: the chain of --ebpf-untracked-pods in a table of its own. */
import { fixedChains } from '../../../src/backends/nftables/fixed-chains.ts'
import { renderRule } from '../../../src/dataplane/nft/render-rule.ts'
import type { Namespace } from '../../packet/testing/namespace.ts'
import { podRange } from '../core/cluster-objects.ts'

const table = 'ip pod-to-pod'

/** Those of the chain alone: it is made and deleted in each round, and a whole table of 10,000 Services would take too long each time. */
const rules = fixedChains(
  {
    family: 'ipv4',
    localTraffic: { kind: 'none' },
    masqueradeAll: false,
    masqueradeMark: '0x00004000',
    limitsNodePorts: false,
    untrackedRanges: [podRange],
  },
  { hasRanges: false, hasTrackedExceptions: false },
)
  .filter(({ hook }) => hook?.hook === 'prerouting')
  .flatMap((chain) => chain.rules)
  .map((rule) => renderRule(rule, 'ipv4'))
  .filter((text) => text.endsWith('notrack'))

export class Untracked implements Disposable {
  readonly #node: Namespace

  constructor(node: Namespace) {
    this.#node = node
    this.#nft(
      [
        `add table ${table}`,
        `add chain ${table} prerouting { type filter hook prerouting priority raw; }`,
        ...rules.map((text) => `add rule ${table} prerouting ${text.replace(/notrack$/, 'counter notrack')}`),
      ].join('\n'),
    )
  }

  /** Otherwise there is nothing to compare. */
  assertUsed(): void {
    if (!/counter packets [1-9]/.test(this.#nft(`list table ${table}`)))
      throw new Error('all packets were tracked: there is nothing to compare')
  }

  [Symbol.dispose](): void {
    this.#nft(`delete table ${table}`)
  }

  #nft(script: string): string {
    return this.#node.run('nft', ['-f', '-'], { input: script })
  }
}
