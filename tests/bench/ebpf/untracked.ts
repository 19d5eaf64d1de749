/** While it is there, the node does not track packets from pod to pod: the table that docs/ebpf.md shows. */
import type { Namespace } from '../../packet/testing/namespace.ts'
import { podRange } from '../core/cluster-objects.ts'

const table = 'ip pod-to-pod'

export class Untracked implements Disposable {
  readonly #node: Namespace

  constructor(node: Namespace) {
    this.#node = node
    this.#nft(
      [
        `add table ${table}`,
        `add chain ${table} prerouting { type filter hook prerouting priority raw; }`,
        `add rule ${table} prerouting ip saddr ${podRange} ip daddr ${podRange} counter notrack`,
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
