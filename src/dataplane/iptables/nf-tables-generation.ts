/** A number that moves with each transaction in this network namespace, whoever made it. */
import { currentGeneration } from '../nf-tables/generation.ts'
import type { OpenDatagrams } from '../netlink/open-netlink.ts'
import type { ChangeDetector } from './change-detector.ts'

export async function nfTablesGeneration(openDatagrams: OpenDatagrams): Promise<ChangeDetector> {
  const datagrams = await openDatagrams('netfilter')
  return {
    token: async () => String((await currentGeneration(datagrams)).id),
    isCheap: true,
    [Symbol.asyncDispose]: () => datagrams.close(),
  }
}
