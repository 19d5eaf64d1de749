/**
 * The addresses of one network interface of Windows, which `netsh` shows and changes. Each implementation passes
 * `netsh.contract.ts`.
 */
import type { Family } from '../../net/ip.ts'

/** Every method rejects with a NetshError. */
export interface Netsh {
  /** As Windows shows it: `vEthernet (HNS Internal NIC)`. */
  readonly interfaceName: string
  /** Canonical text, sorted as Windows has it. */
  list(family: Family, signal: AbortSignal): Promise<readonly string[]>
  /**
   * Gives the interface this address alone, without a route to its neighbours, until the machine restarts. Resolves when the
   * interface has it and sockets can use it. `was-there`: this machine had it already, on this interface or another one.
   */
  add(ip: string, signal: AbortSignal): Promise<'added' | 'was-there'>
  /** It is no error if the interface does not have it. */
  remove(ip: string, signal: AbortSignal): Promise<void>
}

export type NetshReason =
  | 'tool-missing'
  | 'not-permitted'
  | 'no-such-interface'
  /** Added, and then no socket could use it for long. */
  | 'not-usable'
  | 'timed-out'
  | 'refused'

interface NetshErrorOptions extends ErrorOptions {
  readonly exitCode?: number | null
}

export class NetshError extends Error {
  override readonly name = 'NetshError'
  readonly reason: NetshReason
  /** Of the program; undefined if it did not end by itself. */
  readonly exitCode: number | undefined

  constructor(reason: NetshReason, message: string, options?: NetshErrorOptions) {
    super(message, options)
    this.reason = reason
    this.exitCode = options?.exitCode ?? undefined
  }
}

/** The virtual switch of the containers, which every Windows node with HNS has. */
export const defaultInterface = 'vEthernet (HNS Internal NIC)'
const interfaceVariable = 'INTERFACE_TO_ADD_SERVICE_IP'

/** Which interface gets the addresses of Services. */
export function interfaceNameFrom(env: Readonly<Record<string, string | undefined>>): string {
  const chosen = env[interfaceVariable] ?? ''
  return chosen === '' ? defaultInterface : chosen
}

export function noSuchInterface(name: string, options?: NetshErrorOptions): NetshError {
  const wayOut = `set ${interfaceVariable} to the name of an interface of this node (default: ${defaultInterface}; "netsh interface show interface" lists them)`
  return new NetshError('no-such-interface', `netsh cannot show the interface "${name}": ${wayOut}`, options)
}

export const howToBeAdministrator =
  'run Fairlead as an administrator, as a service of LocalSystem, or in a HostProcess container'

export function mayNotChange(name: string, options?: NetshErrorOptions): NetshError {
  return new NetshError(
    'not-permitted',
    `this user may not change the addresses of the interface "${name}": ${howToBeAdministrator}`,
    options,
  )
}
