/** A kernel in memory for tests: it counts what is asked and what is written, and refuses what it is told to. */
import type { Family } from '../../../net/ip.ts'
import { AddressError } from '../../../dataplane/addresses/addresses.ts'
import { MemoryAddresses } from '../../../dataplane/addresses/memory-addresses.ts'
import type { EntryChange } from '../../../dataplane/ipset/ipset.ts'
import { IpsetError } from '../../../dataplane/ipset/ipset.ts'
import { MemoryIpset } from '../../../dataplane/ipset/memory-ipset.ts'
import { IptablesError } from '../../../dataplane/iptables/iptables.ts'
import type { Table } from '../../../dataplane/iptables/iptables.ts'
import { MemoryIptables } from '../../../dataplane/iptables/memory-iptables.ts'
import { IpvsError, serverKey } from '../../../dataplane/ipvs/ipvs.ts'
import type { IpvsOperation, ServerAddress } from '../../../dataplane/ipvs/ipvs.ts'
import { MemoryIpvs } from '../../../dataplane/ipvs/memory-ipvs.ts'
import { setIds, setName } from '../ip-sets.ts'
import { ipvsLink } from '../ipvs-link.ts'
import type { Kernel } from '../kernel.ts'

const never = new AbortController().signal

export interface MemoryKernel extends Kernel {
  readonly ipvs: RecordingIpvs
  readonly ipset: RecordingIpset
  readonly addresses: RefusingAddresses
  readonly iptables: RecordingIptables
  /** Of our sets. */
  readonly setNames: readonly string[]
  /** Everything that a packet could meet, as text. */
  snapshot(): Promise<readonly string[]>
}

export function memoryKernel(
  options: { readonly family?: Family; readonly missingMatches?: ReadonlySet<string> } = {},
): MemoryKernel {
  const { family = 'ipv4' } = options
  const ipvs = new RecordingIpvs()
  const ipset = new RecordingIpset()
  const addresses = new RefusingAddresses()
  const iptables = new RecordingIptables({ family, ...options }, ipset)
  const setNames = setIds.map((id) => setName(id, family))
  return {
    ipvs,
    ipset,
    addresses,
    iptables,
    setNames,
    async snapshot() {
      const servers = await ipvs.list(never)
      const sets = await ipset.list(setNames, never)
      const links = await addresses.list(never)
      const saved: string[] = []
      for (const table of ['filter', 'nat'] as const) saved.push(await iptables.save(table, never))
      for (const door of [ipvs, ipset, addresses]) door.reads--
      return [
        ...servers.flatMap(({ realServers, ...server }) => [
          `server ${serverKey(server)} ${server.scheduler} ${server.flags} ${server.timeoutSeconds}`,
          ...realServers.map(({ ip, port, weight }) => `server ${serverKey(server)} -> ${ip} ${port} weight ${weight}`),
        ]),
        ...sets.flatMap(({ name, entries }) => [`set ${name}`, ...Array.from(entries, (it) => `set ${name} ${it}`)]),
        ...links.filter(({ link }) => link === ipvsLink).map(({ ip }) => `address ${ip}`),
        ...saved.join('').split('\n'),
      ].sort()
    },
  }
}

class RecordingIpvs extends MemoryIpvs {
  reads = 0
  readonly operations: IpvsOperation[] = []
  failsToCount = false
  refuse: (operation: IpvsOperation) => IpvsError['reason'] | undefined = () => undefined

  override list(signal: AbortSignal) {
    this.reads++
    return super.list(signal)
  }

  override async realServers(server: ServerAddress, signal: AbortSignal) {
    this.reads++
    if (this.failsToCount) throw new IpvsError('refused', 'the test does not tell')
    return super.realServers(server, signal)
  }

  override async apply(operations: readonly IpvsOperation[], signal: AbortSignal) {
    const errors = new Map<number, IpvsError>()
    for (const [index, operation] of operations.entries()) {
      this.operations.push(operation)
      const reason = this.refuse(operation)
      const error =
        reason === undefined
          ? (await super.apply([operation], signal)).get(0)
          : new IpvsError(reason, `the test refuses to ${operation.kind} ${serverKey(operation.server)}`)
      if (error !== undefined) errors.set(index, error)
    }
    return errors
  }
}

class RecordingIpset extends MemoryIpset {
  reads = 0
  readonly changes: EntryChange[] = []
  refuse: (change: EntryChange) => IpsetError['reason'] | undefined = () => undefined

  override list(names: readonly string[], signal: AbortSignal) {
    this.reads++
    return super.list(names, signal)
  }

  override async apply(changes: readonly EntryChange[], signal: AbortSignal) {
    const errors = new Map<number, IpsetError>()
    for (const [index, change] of changes.entries()) {
      this.changes.push(change)
      const reason = this.refuse(change)
      const error =
        reason === undefined
          ? (await super.apply([change], signal)).get(0)
          : new IpsetError(reason, `the test refuses to ${change.kind} ${change.entry}`)
      if (error !== undefined) errors.set(index, error)
    }
    return errors
  }
}

class RefusingAddresses extends MemoryAddresses {
  reads = 0
  refusedIps: ReadonlySet<string> = new Set()

  override list(signal: AbortSignal) {
    this.reads++
    return super.list(signal)
  }

  override async add(link: string, ips: readonly string[], signal: AbortSignal) {
    await super.add(
      link,
      ips.filter((ip) => !this.refusedIps.has(ip)),
      signal,
    )
    const refused = ips.filter((ip) => this.refusedIps.has(ip))
    return new Map(refused.map((ip) => [ip, new AddressError('refused', `the test refuses to add ${ip}`)]))
  }
}

/** Refuses rules that ask a set which does not exist. */
class RecordingIptables extends MemoryIptables {
  reads = 0
  readonly inputs: string[] = []
  failWith: IptablesError['reason'] | undefined
  readonly #ipset: MemoryIpset

  constructor(options: ConstructorParameters<typeof MemoryIptables>[0], ipset: MemoryIpset) {
    super(options)
    this.#ipset = ipset
  }

  override async restore(input: string, signal: AbortSignal): Promise<void> {
    this.inputs.push(input)
    if (this.failWith !== undefined) throw new IptablesError(this.failWith, `the test fails with ${this.failWith}`)
    const names = [...new Set(Array.from(input.matchAll(/--match-set (\S+)/g), ([, name = '']) => name))]
    const found = await this.#ipset.list(names, signal)
    const missing = names.filter((name) => !found.some((set) => set.name === name))
    if (missing.length > 0) throw new IptablesError('refused', `there is no set ${missing.join(', ')}`)
    await super.restore(input, signal)
  }

  override save(table: Table, signal: AbortSignal): Promise<string> {
    this.reads++
    return super.save(table, signal)
  }
}
