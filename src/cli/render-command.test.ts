/** Plans are printed on every system, whichever has the mode. */
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { fileOf } from '../config/testing/command-line.ts'
import { rawService, rawSlice } from '../core/testing/objects.ts'
import { TemporaryFolder } from '../sources/kube/testing/temporary-folder.ts'
import { memoryHost, memoryProgram } from './host/testing/memory-host.ts'
import { renderCommand } from './render-command.ts'

const manifests = fileURLToPath(new URL('../../examples/manifests/cluster', import.meta.url))

async function render(platform: NodeJS.Platform, flags: readonly string[], config = '', objects = manifests) {
  const program = memoryProgram(memoryHost({ platform, files: { '/kube-proxy.conf': fileOf(config) } }))
  const code = await renderCommand([`--objects=${objects}`, '--node-name=node1', ...flags], program)
  expect(code).toBe(0)
  return program.printed()
}

test.each(['linux', 'win32', 'darwin'] as const)('kernelspace on %s', async (platform) => {
  const text = await render(platform, ['--proxy-mode=kernelspace', '--family=ipv4', '--part=load-balancers'])
  expect(text).toContain(
    '{"HostComputeEndpoints":["<endpoint 10.64.1.6>"],"FrontendVIPs":["10.96.0.30"],' +
      '"PortMappings":[{"Protocol":6,"InternalPort":8443,"ExternalPort":443}],"SchemaVersion":{"Major":2,"Minor":0}}\n',
  )
})

test('the settings of the file count, also the mode that only another system has', async () => {
  const settings = 'mode: kernelspace\nwinkernel: {networkName: vxlan0, sourceVip: 10.61.1.2, enableDSR: true}'
  const text = await render('linux', ['--config=/kube-proxy.conf'], settings)
  expect(text).toContain('"HostComputeNetwork":"<network vxlan0>","IpConfigurations":[{"IpAddress":"10.61.1.2"}]')
  expect(text).toContain('"SourceVIP":"10.61.1.2","FrontendVIPs":["10.96.0.30"]')
  expect(text).toContain('"ExternalPort":443}],"SchemaVersion":{"Major":2,"Minor":0},"Flags":1}')
  // An overlay network has one family.
  expect(text.match(/^# .*/gm)).toEqual(['# ipv4, part endpoints', '# ipv4, part load-balancers'])
})

test('an overlay network needs its source VIP', async () => {
  const overlay = ['--proxy-mode=kernelspace', '--hns-network-type=Overlay']
  await expect(render('linux', overlay)).rejects.toThrow('an overlay network needs a source VIP')
})

test('iptables on Windows', async () => {
  expect(await render('win32', ['--proxy-mode=iptables', '--family=ipv4'])).toContain('*nat\n')
})

test('a mode that no system has is refused', async () => {
  await expect(render('linux', ['--proxy-mode=magic'])).rejects.toThrow('Invalid value: "magic"')
})

const here = { nodeName: 'node1' }
const there = { nodeName: 'node2' }
const dnsPorts = ['UDP', 'TCP', 'SCTP'].map((protocol) => ({ name: protocol.toLowerCase(), protocol, port: 53 }))
/** Some are served at the sockets; the others say why not. */
const services = [
  rawService('shop/web', {
    type: 'NodePort',
    clusterIPs: ['10.96.0.10', 'fd96::10'],
    ipFamilies: ['IPv4', 'IPv6'],
    externalIPs: ['203.0.113.10'],
    ports: [{ port: 80, targetPort: 8080, nodePort: 30_080 }],
  }),
  rawSlice('shop/web-4', 'web', [
    { addresses: ['10.64.2.7'], ...there },
    { addresses: ['10.64.1.5'], ...here },
    { addresses: ['10.64.1.6'], ...here, conditions: { ready: false } },
  ]),
  rawSlice('shop/web-6', 'web', [{ addresses: ['fd64:1::5'], ...here }]),
  rawService(
    'kube-system/dns',
    { clusterIP: '10.96.0.11', ports: dnsPorts },
    {},
    { annotations: { 'fairlead.dev/weights': 'node:node2=2' } },
  ),
  rawSlice(
    'kube-system/dns',
    'dns',
    [
      { addresses: ['10.64.1.8'], ...here },
      { addresses: ['10.64.2.8'], ...there },
    ],
    dnsPorts,
  ),
  rawService('shop/nobody', { clusterIP: '10.96.0.12', ports: [{ port: 80 }] }),
  rawService(
    'shop/elsewhere',
    {
      type: 'LoadBalancer',
      clusterIP: '10.96.0.13',
      internalTrafficPolicy: 'Local',
      externalTrafficPolicy: 'Local',
      healthCheckNodePort: 32_013,
      loadBalancerSourceRanges: ['203.0.113.0/24'],
      ports: [{ port: 80, nodePort: 30_013 }],
    },
    { loadBalancer: { ingress: [{ ip: '198.51.100.13' }] } },
  ),
  rawSlice('shop/elsewhere', 'elsewhere', [{ addresses: ['10.64.2.9'], ...there }]),
  rawService('shop/sticky', {
    type: 'NodePort',
    clusterIP: '10.96.0.14',
    sessionAffinity: 'ClientIP',
    ports: [{ port: 80, nodePort: 30_014 }],
  }),
  rawSlice('shop/sticky', 'sticky', [{ addresses: ['10.64.1.9'], ...here }]),
  ...[
    ['hashed', '10.96.0.15', { 'fairlead.dev/algorithm': 'maglev' }] as const,
    ['limited', '10.96.0.16', { 'fairlead.dev/max-connections': '3' }] as const,
    ['packets', '10.96.0.17', { 'fairlead.dev/socket-balancing': 'off' }] as const,
    ['own', '10.96.0.18', {}] as const,
  ].map(([name, clusterIP, annotations]) =>
    rawService(`shop/${name}`, { clusterIP, ports: [{ port: 80 }] }, {}, { annotations }),
  ),
]

test('ebpf: who is served at the sockets, and by whom; what is left to the packets, and why', async () => {
  await using folder = await TemporaryFolder.make()
  const file = await folder.write('services.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: services }))
  const flags = ['--proxy-mode=ebpf', '--part=sockets', '--node-address=192.0.2.11', '--node-address=10.96.0.18']
  expect(await render('linux', flags, '', file)).toBe(`# ipv4, part sockets
10.96.0.10 tcp 80 internal shop/web -> 10.64.1.5:8080 10.64.2.7:8080
10.96.0.11 sctp 53 kube-system/dns:sctp left to the packets: sockets of SCTP are left alone
10.96.0.11 tcp 53 internal kube-system/dns:tcp -> 10.64.2.8:53 10.64.1.8:53 10.64.2.8:53
10.96.0.11 udp 53 internal kube-system/dns:udp -> 10.64.2.8:53 10.64.1.8:53 10.64.2.8:53
10.96.0.12 tcp 80 internal shop/nobody -> refuse
10.96.0.13 tcp 80 internal shop/elsewhere -> pass
10.96.0.14 tcp 80 shop/sticky left to the packets: nftables serves, and remembers which endpoint a client has (sessionAffinity)
10.96.0.15 tcp 80 shop/hashed left to the packets: maglev goes by the address of the client, which a socket that connects does not have yet
10.96.0.16 tcp 80 shop/limited left to the packets: its limits are for all connections of the port, by whichever way they come
10.96.0.17 tcp 80 shop/packets left to the packets: the Service wants it so (fairlead.dev/socket-balancing: off)
10.96.0.18 tcp 80 shop/own left to the packets: this node has the address itself
198.51.100.13 tcp 80 shop/elsewhere left to the packets: source ranges are asked of packets: a socket that connects has no address yet
203.0.113.10 tcp 80 external shop/web -> 10.64.1.5:8080 10.64.2.7:8080
node-port tcp 30013 external shop/elsewhere -> 10.64.2.9:8080
node-port tcp 30014 on loopback external shop/sticky -> 10.64.1.9:8080
node-port tcp 30014 shop/sticky left to the packets: nftables serves, and remembers which endpoint a client has (sessionAffinity)
node-port tcp 30080 external shop/web -> 10.64.1.5:8080 10.64.2.7:8080
# ipv6, part sockets
fd96::10 tcp 80 internal shop/web -> [fd64:1::5]:8080
node-port tcp 30080 external shop/web -> [fd64:1::5]:8080
`)
})

test('ebpf: beside the sockets is the table of the nftables mode', async () => {
  const printed = (...flags: readonly string[]) => render('linux', ['--family=ipv4', ...flags])
  const table = await printed('--proxy-mode=nftables')
  expect(table).toContain('10.96.0.30')
  expect(await printed('--proxy-mode=ebpf', '--part=nftables')).toBe(table)
  expect((await printed('--proxy-mode=ebpf')).match(/^# .*/gm)).toEqual([
    '# ipv4, part nftables',
    '# ipv4, part sockets',
  ])
})

test('ebpf: connections that are not tracked are a chain, and hide their clients', async () => {
  const flags = ['--proxy-mode=ebpf', '--part=nftables', '--ebpf-untracked-pods=10.64.0.0/16,fd64::/48']
  const text = await render('win32', flags)
  expect(text).toContain('ip saddr 10.64.0.0/16 ip daddr 10.64.0.0/16 fib daddr type != local notrack\n')
  expect(text).toContain('ct status dnat ip saddr 10.64.0.0/16 ip daddr 10.64.0.0/16 masquerade')
  expect(text).toContain('ip6 saddr fd64::/48')
  await expect(render('linux', ['--proxy-mode=ebpf', '--ebpf-untracked-pods=::/0'])).rejects.toThrow(
    '--ebpf-untracked-pods=::/0 holds every address',
  )
})
