import type { Family } from '../../../net/ip.ts'
import { textIn } from '../../netlink/attribute.ts'
import type { OpenNetlink } from '../../netlink/open-netlink.ts'
import { netfilterAttributes, netfilterBody, netfilterFamily } from '../../netlink/nfnetlink.ts'
import { nftMessage, tableField } from '../../nf-tables/protocol-numbers.ts'

export interface TableName {
  readonly family: Family
  readonly name: string
}

/** The tables of both IP families, asked of the kernel: for machines without the nft command. */
export async function listTables(open: OpenNetlink, signal: AbortSignal): Promise<readonly TableName[]> {
  await using socket = await open('netfilter')
  const request = { doing: 'list the tables', type: nftMessage.getTable, body: netfilterBody('unspecified') }
  const tables: TableName[] = []
  for await (const messages of socket.dump(request, signal))
    for (const message of messages) {
      const family = netfilterFamily(message)
      const name = textIn(netfilterAttributes(message), tableField.name)
      if (family !== undefined && name !== undefined) tables.push({ family, name })
    }
  return tables
}
