/** ARP as a neighbour on the link meets it: its own kernel asks who has an address. */
import { createSocket } from 'node:dgram'
import { setTimeout as sleep } from 'node:timers/promises'
import { noLookup } from '../../../../src/dataplane/relay/node/udp-flow.ts'
import type { Namespace } from '../../../packet/testing/namespace.ts'

/** Whether somebody on the link says that the address is there. */
export async function askByArp(
  neighbour: Namespace,
  link: string,
  ips: readonly string[],
): Promise<readonly ('answered' | 'silence')[]> {
  // The kernel asks three times before it gives up: a second in all.
  neighbour.setSysctl(`ipv4.neigh.${link}.retrans_time_ms`, 300)
  neighbour.ip(...ips.flatMap((ip) => [`route replace ${ip}/32 dev ${link}`, `neigh flush to ${ip} dev ${link}`]))
  await sendTo(neighbour, ips)
  const isOpen = /INCOMPLETE|PROBE/
  let table = neighbours(neighbour, link)
  for (let n = 0; n < 100 && ips.some((ip) => isOpen.test(table.get(ip) ?? 'INCOMPLETE')); n++) {
    await sleep(100)
    table = neighbours(neighbour, link)
  }
  return ips.map((ip) => (table.get(ip)?.includes('lladdr') === true ? 'answered' : 'silence'))
}

/** Anything that must leave by the link. */
async function sendTo(neighbour: Namespace, ips: readonly string[]): Promise<void> {
  const socket = createSocket({ type: 'udp4', lookup: noLookup })
  neighbour.enter(() => socket.bind({ port: 0, address: '0.0.0.0', exclusive: true }))
  const discardPort = 9
  for (const ip of ips) await new Promise((sent) => socket.send('who has this?', discardPort, ip, sent))
  socket.close()
}

/** What is known of each address. */
function neighbours(namespace: Namespace, link: string): ReadonlyMap<string, string> {
  const lines = namespace.run('ip', ['neigh', 'show', 'dev', link]).split('\n')
  return new Map(lines.map((line) => [line.split(' ')[0] ?? '', line]))
}
