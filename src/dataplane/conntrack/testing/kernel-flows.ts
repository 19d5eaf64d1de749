/** Real flows in a network namespace: datagrams that are sent through NAT rules like those of a proxy. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { familyOf } from '../../../net/ip.ts'
import { enterFreshNamespace, run } from '../../netlink/testing/network-namespace.ts'
import { address, testFlow } from './flows.ts'
import type { FlowAddresses } from './flows.ts'

/** Makes everything in 10.64.0.0/16, 10.96.0.0/16 and fd00::/16 local, so that no packet leaves. */
export function enterNamespaceForFlows(): void {
  enterFreshNamespace()
  for (const range of ['10.64.0.0/16', '10.96.0.0/16', 'fd00::/16']) run(`ip route add local ${range} dev lo`)
  for (const client of ['fd00:5::5', 'fd00:5::6']) run(`ip addr add ${client}/128 dev lo nodad`)
}

/** Sends a datagram from the client to the service. A DNAT rule leads it to the endpoint. */
export async function openKernelFlow(flow: FlowAddresses): Promise<void> {
  const [client, service] = [address(flow.client), address(flow.service)]
  const isV4 = familyOf(client.ip) === 'ipv4'
  const rule = `OUTPUT -p udp -d ${service.ip} --dport ${service.port} -j DNAT --to-destination ${flow.endpoint}`
  const iptables = `${isV4 ? 'iptables' : 'ip6tables'} -w -t nat`
  run(`${iptables} -A ${rule}`)
  const socket = createSocket(isV4 ? 'udp4' : 'udp6').bind(client.port, client.ip)
  await once(socket, 'listening')
  await new Promise<void>((resolve, reject) => {
    socket.send('hello', service.port, service.ip, (error) => (error === null ? resolve() : reject(error)))
  })
  socket.close()
  run(`${iptables} -D ${rule}`)
}

/** Only the entry in the table: there is no connection. */
export function insertTcpFlow(flow: FlowAddresses): void {
  const { original, reply } = testFlow(flow)
  run(
    `conntrack -I -p tcp -t 600 --state ESTABLISHED -u SEEN_REPLY -s ${original.sourceIp} -d ${original.destinationIp}` +
      ` --sport ${original.sourcePort} --dport ${original.destinationPort} -r ${reply.sourceIp} -q ${reply.destinationIp}` +
      ` --reply-port-src ${reply.sourcePort} --reply-port-dst ${reply.destinationPort}`,
  )
}

export function endKernelFlow(flow: FlowAddresses): void {
  const { original } = testFlow(flow)
  run(
    `conntrack -D -p udp -f ${familyOf(original.sourceIp)} -s ${original.sourceIp} --sport ${original.sourcePort}` +
      ` -d ${original.destinationIp} --dport ${original.destinationPort}`,
  )
}
