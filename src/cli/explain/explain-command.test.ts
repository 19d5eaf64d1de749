import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { fileOf } from '../../config/testing/command-line.ts'
import { memoryHost, memoryProgram } from '../host/testing/memory-host.ts'
import type { Program } from '../program.ts'
import { explainCommand } from './explain-command.ts'

const manifests = ['node', 'shop', 'web'].map((name) =>
  fileURLToPath(new URL(`../../../examples/manifests/cluster/${name}.yaml`, import.meta.url)),
)
const never = new AbortController().signal

async function explain(args: readonly string[], terminal: Partial<Program> = {}) {
  const files = { '/kube-proxy.conf': fileOf('clusterCIDR: 10.64.0.0/16') }
  const program = { ...memoryProgram(memoryHost({ files })), ...terminal }
  const offline = ['--config=/kube-proxy.conf', '--node-name=node1', ...manifests.map((path) => `--objects=${path}`)]
  const code = await explainCommand([...args, ...offline], program, never)
  const [text = '', pieces = ''] = program.printed().split(/\n(?=What does it)/)
  return { code, text, pieces }
}

test('a pod asks a cluster IP, in nftables mode', async () => {
  expect(await explain(['10.96.0.20:80', '--from=10.64.1.5', '--proxy-mode=nftables'])).toMatchObject({
    code: 0,
    text: `10.96.0.20:80/TCP from 10.64.1.5, on node1 (nftables, IPv4)
Answered by one of 2 endpoints.

1. The client 10.64.1.5 is a pod on this node: it is in the cluster CIDR, 10.64.0.0/16.
2. 10.96.0.20:80/TCP is the cluster IP of Service default/web, port http.
3. internalTrafficPolicy is Cluster: endpoints of all nodes may answer.
4. One of these 2 endpoints answers, chosen at random:
   ENDPOINT         NODE    ZONE     SHARE   SEES
   10.64.1.5:8080   node1   zone-a   1/2     this node
   10.64.2.7:8080   node2   zone-b   1/2     the client
5. A client stays with its endpoint until 600 s after its last new connection (sessionAffinity).
6. Endpoints see the address of the client: a pod on this node keeps its address. One that is the
   client itself sees this node.
7. Once no endpoint is left, the client is refused at once ("connection refused").
`,
    pieces: expect.stringContaining(`What does it (planned; nothing was read):
   set cluster-ips
     10.96.0.20
   map services
     10.96.0.20 . tcp . 80 comment "default/web:http" : goto sticky/default/web/tcp/http
`) as string,
  })
})

test('a client that may not come is dropped, in iptables mode', async () => {
  expect(await explain(['198.51.100.10:443', '--from=198.18.0.1', '--proxy-mode=iptables'])).toMatchObject({
    code: 2,
    text: `198.51.100.10:443/TCP from 198.18.0.1, on node1 (iptables, IPv4)
Dropped: the client is not in loadBalancerSourceRanges.

1. The client 198.18.0.1 is outside: it is not in the cluster CIDR, 10.64.0.0/16.
2. 198.51.100.10:443/TCP is the load-balancer IP of Service default/shop, port https.
3. loadBalancerSourceRanges: 203.0.113.0/24. 198.18.0.1 is in none of them.
4. The client is not in loadBalancerSourceRanges: the client hears nothing and gives up after a
   while.
5. Load balancers ask for the health at port 32000: 1 endpoint of this node is ready.
6. Other ways in: cluster IP 10.96.0.30:443, node port 30443.
`,
  })
})

test.each(['nftables', 'iptables'])('only what concerns the way in that was asked for, in %s mode', async (mode) => {
  const ofNodePort = await explain(['node-port/30443', `--proxy-mode=${mode}`])
  expect(ofNodePort.pieces).toContain('30443')
  expect(ofNodePort.pieces).not.toMatch(/198\.51\.100\.10|10\.96\.0\.30/)
  const ofAddress = await explain(['10.96.0.30:443', '--from=host', `--proxy-mode=${mode}`])
  expect(ofAddress.pieces).toContain('10.96.0.30')
  expect(ofAddress.pieces).not.toMatch(/198\.51\.100\.10|30443/)
  for (const { pieces } of [ofNodePort, ofAddress]) expect(pieces).toMatch(/10\.64\.\d\.\d/)
  const json = await explain(['node-port/30443', `--proxy-mode=${mode}`, '-o', 'json'])
  expect(json.text).toMatch(/"pieces": \[/)
  expect(json.text.replace(/[^]*"pieces"/, '')).not.toMatch(/198\.51\.100\.10|10\.96\.0\.30/)
})

test('an address that no Service has, with the Services near it', async () => {
  expect(await explain(['10.96.0.21:80', '--proxy-mode=userspace'])).toMatchObject({
    code: 2,
    text: `10.96.0.21:80/TCP from outside, on node1 (userspace, IPv4)
Not handled: no Service has it.

1. The client is outside: it is neither on this node nor one of its pods.
2. No Service has 10.96.0.21:80/TCP.
3. The packet goes where it would go without a proxy.
4. Near it: 10.96.0.20:80/TCP is the cluster IP of default/web:http.
5. Near it: 10.96.0.30:443/TCP is the cluster IP of default/shop:https.
`,
  })
})

test('a narrow terminal with colours', async () => {
  const stdout = { columns: 40, hasColour: true }
  const { text } = await explain(['10.96.0.20:81', '--proxy-mode=nftables'], { stdout })
  const lines = text.split('\n')
  expect(lines[1]).toBe('\u001B[31mRefused: the Service has no such port.\u001B[39m')
  // The title may be copied whole; all else is broken between words.
  expect(lines.slice(2).filter((line) => line.length > 40)).toEqual([])
})

test('a Service is explained by the way in that the client takes', async () => {
  const title = async (from: string) =>
    (await explain(['service/shop', `--from=${from}`, '--proxy-mode=nftables'])).text.split('\n')[0]
  expect(await title('outside')).toBe('198.51.100.10:443/TCP from outside, on node1 (nftables, IPv4)')
  expect(await title('pod')).toBe('10.96.0.30:443/TCP from a pod on this node, on node1 (nftables, IPv4)')
})

test('JSON has every way in', async () => {
  const { code, text } = await explain(['service/shop', '-o', 'json', '--proxy-mode=ipvs'])
  expect(code).toBe(0)
  const { explanations } = JSON.parse(text) as { explanations: { entrance: { kind: string }; mode: string }[] }
  expect(explanations.map(({ entrance, mode }) => `${mode} ${entrance.kind}`)).toEqual([
    'ipvs cluster-ip',
    'ipvs load-balancer-ip',
    'ipvs node-port',
  ])
})

test.each([
  [['service/wep'], 'there is no Service "wep" in namespace "default", did you mean web?'],
  [['service/web', '-n', 'shop'], 'there is no Service "web" in namespace "shop", but in default: choose it with -n'],
  [['10.96.0.20'], '"10.96.0.20" has no port'],
  [[], 'ask for IP:PORT'],
  [['10.96.0.20:80', '--from=fd00::1'], 'fd00::1 cannot reach an IPv4 address'],
  [['10.96.0.20:80', '-o', 'yaml'], '"yaml" is none of text, json'],
])('%o is a mistake', async (args, message) => {
  await expect(explain([...args, '--proxy-mode=nftables'])).rejects.toThrow(message)
})

test.each(['iptables', 'ipvs', 'kernelspace', 'nftables', 'userspace', 'winuserspace'])(
  '%s is explained on every system',
  async (mode) => {
    expect((await explain(['service/web', `--proxy-mode=${mode}`])).code).toBe(0)
  },
)

test('help says how to ask', async () => {
  const { code, text } = await explain(['--help'])
  expect(code).toBe(0)
  expect(text).toContain('fairlead explain node-port NUMBER[/udp]')
  expect(text).toContain('Exit code: 0 if something answers, 2 if nothing does, 1 if the question cannot be answered.')
})

describe('in ebpf mode, with its flags', () => {
  const ask = (...args: readonly string[]) => explain([...args, '--proxy-mode=ebpf'])
  const untracked = '--ebpf-untracked-pods=10.64.0.0/16'

  test('pods in a range that is not tracked see the node where packets serve', async () => {
    const sticky = ['10.96.0.20:80', '--from=10.64.1.9']
    expect((await ask(...sticky)).text).toContain('10.64.2.7:8080   node2   zone-b   1/2     the client')
    expect((await ask(...sticky, untracked)).text).toContain('10.64.2.7:8080   node2   zone-b   1/2     this node')
  })

  test('so do they where sockets of pods are left alone', async () => {
    const shop = ['10.96.0.30:443', '--from=10.64.1.9', untracked]
    expect((await ask(...shop)).text).toMatch(/10\.64\.1\.6:8443 .* the client\n/)
    expect((await ask(...shop, '--ebpf-scope=host')).text).toMatch(/10\.64\.1\.6:8443 .* this node\n/)
  })

  test('node ports on loopback answer unless they are switched off', async () => {
    expect(await ask('127.0.0.1:30443')).toMatchObject({ code: 0 })
    expect(await ask('127.0.0.1:30443', '--ebpf-localhost-node-ports=false')).toMatchObject({ code: 2 })
  })
})
