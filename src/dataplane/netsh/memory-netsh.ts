/** An interface that exists only in memory. */
import { familyOf } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { defaultInterface, mayNotChange, NetshError, noSuchInterface } from './netsh.ts'
import type { Netsh } from './netsh.ts'

export class MemoryNetsh implements Netsh {
  readonly interfaceName = defaultInterface
  /** Those of the interface. Others may change them. */
  readonly ips = new Set<string>()
  /** Those that other interfaces of the machine have. */
  readonly elsewhere = new Set<string>()
  hasInterface = true
  isAdministrator = true
  /** Not taken. */
  refusedIp: string | undefined

  async list(family: Family, signal: AbortSignal): Promise<readonly string[]> {
    this.#mustExist(signal)
    return [...this.ips].filter((ip) => familyOf(ip) === family)
  }

  async add(ip: string, signal: AbortSignal): Promise<'added' | 'was-there'> {
    this.#mustBeChangeable(signal)
    if (this.ips.has(ip) || this.elsewhere.has(ip)) return 'was-there'
    if (ip === this.refusedIp)
      throw new NetshError('refused', `netsh did not add ${ip} to the interface "${this.interfaceName}": no`)
    this.ips.add(ip)
    return 'added'
  }

  async remove(ip: string, signal: AbortSignal): Promise<void> {
    this.#mustBeChangeable(signal)
    this.ips.delete(ip)
  }

  #mustBeChangeable(signal: AbortSignal): void {
    if (!this.isAdministrator) throw mayNotChange(this.interfaceName)
    this.#mustExist(signal)
  }

  #mustExist(signal: AbortSignal): void {
    signal.throwIfAborted()
    if (!this.hasInterface) throw noSuchInterface(this.interfaceName)
  }
}
