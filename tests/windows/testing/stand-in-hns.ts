/**
 * HNS for a daemon under Wine: the stand-in for computenetwork.dll in system32, which keeps its objects and a log of calls
 * in a folder.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'
import { buildStandIn } from '../stand-in/build.ts'
import { windowsPath } from './wine.ts'

export const networkName = 'pod-net'

const network = {
  ID: '11111111-2222-4333-8444-555555555555',
  Name: networkName,
  Type: 'L2Bridge',
  Ipams: [{ Subnets: [{ IpAddressPrefix: '10.244.1.0/24' }] }],
}

interface LoadBalancer {
  readonly ID: string
  readonly HostComputeEndpoints: readonly string[]
  readonly FrontendVIPs?: readonly string[]
  readonly PortMappings: readonly { readonly ExternalPort: number; readonly InternalPort: number }[]
}

interface Endpoint {
  readonly ID: string
  readonly IpConfigurations: readonly { readonly IpAddress: string }[]
}

export class StandInHns implements AsyncDisposable {
  readonly #folder: TemporaryFolder

  private constructor(folder: TemporaryFolder) {
    this.#folder = folder
  }

  /** With one network, and nothing in it. */
  static async make(): Promise<StandInHns> {
    const hns = new StandInHns(await TemporaryFolder.make())
    await hns.#folder.write('state', `Network ${JSON.stringify(network)}\n`)
    return hns
  }

  /** For the daemon. */
  get env(): Readonly<Record<string, string>> {
    return { STAND_IN_FOLDER: windowsPath(this.#folder.path) }
  }

  /** Each load balancer as `VIP:port → IP:port, …`, sorted. */
  async loadBalancers(): Promise<readonly string[]> {
    const objects = await this.#objects()
    const ips = new Map(
      objects.flatMap(([kind, object]) => (kind === 'Endpoint' ? [[object.ID, ipOf(object as Endpoint)]] : [])),
    )
    const lines = objects.flatMap(([kind, object]) => (kind === 'LoadBalancer' ? [object as LoadBalancer] : []))
    return lines.map((balancer) => textOf(balancer, ips)).toSorted()
  }

  /** The addresses of all endpoints, sorted. */
  async endpoints(): Promise<readonly string[]> {
    const objects = await this.#objects()
    return objects.flatMap(([kind, object]) => (kind === 'Endpoint' ? [ipOf(object as Endpoint)] : [])).toSorted()
  }

  /** Somebody else removes them all, or HNS has lost them. */
  async loseLoadBalancers(): Promise<void> {
    const kept = (await this.#lines('state')).filter((line) => !line.startsWith('LoadBalancer '))
    await writeFile(join(this.#folder.path, 'state'), kept.map((line) => `${line}\n`).join(''))
  }

  /** The functions that were called so far. */
  async calls(): Promise<readonly string[]> {
    return (await this.#lines('log')).map((line) => line.split(' ')[0] ?? '')
  }

  /** How many handles were opened and are open still. */
  async openHandles(): Promise<number> {
    const calls = (await this.#lines('log')).filter((line) => line.includes('-> 0x00000000'))
    const count = (pattern: RegExp) => calls.filter((line) => pattern.test(line)).length
    return count(/^Hcn(Open|Create)/) - count(/^HcnClose/)
  }

  /** How many texts of HNS had not been freed, at most, when a call returned. */
  async mostLentTexts(): Promise<number> {
    return Math.max(...(await this.#lines('log')).map((line) => Number(/, (\d+) texts and/.exec(line)?.[1])))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#folder[Symbol.asyncDispose]()
  }

  async #objects(): Promise<readonly (readonly [kind: string, object: { readonly ID: string }])[]> {
    return (await this.#lines('state')).map((line) => {
      const [, kind = '', json = ''] = /^(\w+) (.*)$/.exec(line) ?? []
      return [kind, JSON.parse(json) as { ID: string }]
    })
  }

  async #lines(name: string): Promise<readonly string[]> {
    const text = await readFile(join(this.#folder.path, name), 'utf8').catch(() => '')
    // What follows the last line end is being written.
    return text.split(/\r?\n/).slice(0, -1)
  }
}

/** Puts the library where Windows has its own. */
export async function installStandInHns(prefix: string): Promise<void> {
  const system = join(prefix, 'drive_c/windows/system32')
  await buildStandIn('windows', system, 'computenetwork')
  await buildStandIn('windows', system, 'vmcompute')
}

function ipOf({ IpConfigurations: [first] }: Endpoint): string {
  return first?.IpAddress ?? ''
}

function textOf(balancer: LoadBalancer, ipsById: ReadonlyMap<string, string>): string {
  const { FrontendVIPs = [], HostComputeEndpoints, PortMappings } = balancer
  const [mapping] = PortMappings
  const backends = HostComputeEndpoints.map((id) => `${ipsById.get(id) ?? id}:${mapping?.InternalPort}`).toSorted()
  return `${FrontendVIPs.join()}:${mapping?.ExternalPort} → ${backends.join(', ')}`
}
