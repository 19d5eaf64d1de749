/** What it costs that endpoints see the client's own address: new connections through a node between two others. */
import { answerDelivery } from '../../../src/backends/userspace/portals/answer-rules.ts'
import { Namespace } from '../../packet/testing/namespace.ts'
import type { BenchGroup, BenchOptions, BenchSection } from '../bench-group.ts'
import { compiledScript, compileScripts } from '../compiled-scripts.ts'
import { renderSpread, spreadOf } from '../statistics.ts'
import { buildNativeEngine, buildPeer, startEndpoint, startLoad } from './relay-programs.ts'
import { RunningProgram } from './running-program.ts'

const ips = { client: '10.1.0.2', node: '10.1.0.1', nodeToEndpoint: '10.2.0.1', endpoint: '10.2.0.2' } as const
const cases = [
  { name: 'the node', seen: 'node', hasRules: false },
  { name: 'the node, rules for answers in place', seen: 'node', hasRules: true },
  { name: 'the client', seen: 'client', hasRules: true },
] as const
const loadMs = 1_000
const clients = 64
const roundsPerRun = 4

type CaseName = (typeof cases)[number]['name']

interface Measured {
  readonly perSecond: number
  readonly cpuMsPerThousand: number
}

export const userspaceClientAddressGroup: BenchGroup = {
  name: 'userspace-client-address',
  async run(options) {
    options.progress('compiling what is measured, and building the client and the endpoint')
    await Promise.all([compileScripts(), buildPeer(), buildNativeEngine()])
    return [await clientAddressCost(options)]
  },
}

async function clientAddressCost({ runs, progress }: BenchOptions): Promise<BenchSection> {
  using lab = new Lab()
  await using endpoint = await lab.endpoint.enter(() => startEndpoint(ips.endpoint))
  await using relay = lab.startRelay(endpoint.port)
  const ports = await relay.nextLine<Readonly<Record<'node' | 'client', number>>>()
  const measuredByName = new Map<CaseName, Measured[]>(cases.map(({ name }) => [name, []]))
  const rounds = runs * roundsPerRun
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    progress(`round ${round} of ${rounds}`)
    for (const { name, seen, hasRules } of [...cases.slice(round % 3), ...cases.slice(0, round % 3)]) {
      lab.setRules(hasRules)
      const measured = await measure(lab, relay, ports[seen])
      if (round > 0) measuredByName.get(name)?.push(measured)
    }
  }
  return sectionOf(measuredByName, rounds)
}

async function measure(lab: Lab, relay: RunningProgram, port: number): Promise<Measured> {
  const cpuBefore = relay.cpuMs
  await using load = lab.client.enter(() => startLoad(port, 'connect', clients, loadMs, ips.node))
  const { requestsPerSecond, failures } = await load.nextLine<{ requestsPerSecond: number; failures: number }>()
  if (failures > 0) throw new Error(`${failures} connections failed: there is nothing to compare`)
  return {
    perSecond: requestsPerSecond,
    cpuMsPerThousand: (relay.cpuMs - cpuBefore) / ((requestsPerSecond * loadMs) / 1e6),
  }
}

function sectionOf(measuredByName: ReadonlyMap<CaseName, readonly Measured[]>, rounds: number): BenchSection {
  const values = (name: CaseName, of: (measured: Measured) => number) => (measuredByName.get(name) ?? []).map(of)
  const ratio = (name: CaseName, of: (measured: Measured) => number) => {
    const base = values(cases[0].name, of)
    return spreadOf(values(name, of).map((value, index) => value / (base[index] ?? NaN))).median.toFixed(2)
  }
  const rate = ({ perSecond }: Measured) => perSecond / 1000
  const cpu = ({ cpuMsPerThousand }: Measured) => cpuMsPerThousand
  return {
    title: 'What it costs that endpoints see the client',
    about: `The client, the node with the native engine, and the endpoint each have a network namespace, joined by veth pairs; clients connect to the proxy port, so no portal is measured. ${clients} clients open connections one after the other, each for one request; cases take turns, ${loadMs / 1000} s each, in ${rounds} rounds. CPU is that of the relay's processes. Median (min – max); ratios are medians of the ratios within each round.`,
    tables: [
      {
        columns: ['endpoints see', '1,000/s', 'CPU, ms/1,000'],
        rows: cases.map(({ name }) => [
          name,
          renderSpread(spreadOf(values(name, rate)), 2),
          renderSpread(spreadOf(values(name, cpu)), 1),
        ]),
      },
    ],
    findings: cases
      .slice(1)
      .map(
        ({ name }) =>
          `${name} : ${cases[0].name}: ${ratio(name, rate)} in new connections per second, ${ratio(name, cpu)} in CPU.`,
      ),
  }
}

class Lab implements Disposable {
  readonly client = Namespace.make()
  readonly node = Namespace.make()
  readonly endpoint = Namespace.make()
  #hasRules = false

  constructor() {
    const { client, node, endpoint } = this
    join(client, ips.client, node, ips.node, 'client')
    join(endpoint, ips.endpoint, node, ips.nodeToEndpoint, 'endpoint')
    node.setSysctl('ipv4.ip_forward', 1)
    for (const host of [client, node]) {
      // Ten thousand connections a second from one address to one other use up the ports.
      host.setSysctl('ipv4.tcp_tw_reuse', 1)
      host.setSysctl('ipv4.ip_local_port_range', '1024 65535')
    }
    const { mark, table } = answerDelivery
    node.ip(`route add local default dev lo table ${table}`)
    node.ip(`rule add priority 91 fwmark ${mark}/${mark} nop`)
    node.ip(`rule add priority 89 iif lo fwmark ${mark}/${mark} goto 91`)
    node.ip(`rule add priority 90 fwmark ${mark}/${mark} lookup ${table}`)
  }

  startRelay(endpointPort: number): RunningProgram {
    const script = compiledScript(new URL('./client-address-relay.ts', import.meta.url))
    const args = [ips.node, ips.endpoint, `${endpointPort}`]
    return this.node.enter(() => new RunningProgram([process.execPath, script, ...args]))
  }

  setRules(areWanted: boolean): void {
    if (areWanted === this.#hasRules) return
    const rule = `PREROUTING -m socket --transparent -j MARK --or-mark ${answerDelivery.mark}`
    this.node.run('iptables', ['-t', 'mangle', areWanted ? '-A' : '-D', ...rule.split(' ')])
    this.#hasRules = areWanted
  }

  [Symbol.dispose](): void {
    for (const namespace of [this.client, this.node, this.endpoint]) namespace[Symbol.dispose]()
  }
}

function join(host: Namespace, hostIp: string, node: Namespace, nodeIp: string, device: string): void {
  host.ip(
    `link add eth0 type veth peer name ${device} netns ${node.path}`,
    `address add ${hostIp}/24 dev eth0`,
    'link set eth0 up',
    `route add default via ${nodeIp} onlink dev eth0`,
  )
  node.ip(`address add ${nodeIp}/24 dev ${device}`, `link set ${device} up`)
}
