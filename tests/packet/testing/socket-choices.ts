/** How many calls of this node the programs of the ebpf mode have led to an endpoint so far, as the metrics tell it. */
import type { Family } from '../../../src/net/ip.ts'
import { fetchFrom } from './fetch-from.ts'
import type { Rig } from './rig.ts'

export async function translatedSoFar(rig: Rig): Promise<Readonly<Record<Family, number>>> {
  const answer = await fetchFrom(rig.cluster.node, '127.0.0.1', 10_249, '/metrics', 10_000)
  if (typeof answer !== 'object') throw new Error(`the proxy of the test gives no metrics: ${answer}`)
  const count = (family: 'IPv4' | 'IPv6') => {
    const line = new RegExp(`^fairlead_socket_choices_total{result="translated",ip_family="${family}"} (\\d+)$`, 'm')
    return Number(line.exec(answer.body)?.[1] ?? Number.NaN)
  }
  return { ipv4: count('IPv4'), ipv6: count('IPv6') }
}
