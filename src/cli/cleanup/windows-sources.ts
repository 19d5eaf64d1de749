/** Everybody who may have left something on a Windows node, and the doors to it. A new data plane of Windows is listed here. */
import * as kernelspace from '../../backends/kernelspace/leftovers.ts'
import * as userspace from '../../backends/userspace/windows/leftovers.ts'
import type { ProxyMode } from '../../config/proxy-config.ts'
import { silentLogger } from '../../core/logger.ts'
import { openOwnedObjects } from '../../dataplane/owned-objects/file-owned-objects.ts'
import { hcnOverDriver } from '../../dataplane/hcn/hcn-over-driver.ts'
import { CommandNetsh } from '../../dataplane/netsh/command-netsh.ts'
import { hcnTimeLimitMs } from '../modes/kernelspace/lend-hcn.ts'
import { hnsObjectsPath, serviceAddressesPath } from '../modes/windows-records.ts'
import type { CleanupPlace, OpenFindings } from './leftovers-on-node.ts'
import { nothingOpen } from './leftovers-on-node.ts'

interface WindowsSource {
  /** Whose it is: none of it is left over while this mode runs. */
  readonly mode: ProxyMode
  readonly findLeftovers: (place: CleanupPlace, signal: AbortSignal) => Promise<OpenFindings>
}

/** In the order in which things go. */
export const windowsSources: readonly WindowsSource[] = [
  { mode: 'kernelspace', findLeftovers: inHns },
  { mode: 'userspace', findLeftovers: onInterfaces },
]

/** HNS is not asked where nothing of it is ours: a node without the mode may have none. */
async function inHns({ host, stateDir, log = silentLogger }: CleanupPlace, signal: AbortSignal): Promise<OpenFindings> {
  const owned = await openOwnedObjects({ path: hnsObjectsPath(stateDir, host), log })
  if (owned.list().length === 0) return nothingOpen
  const driver = await host.openHcn()
  const close = () => driver[Symbol.asyncDispose]()
  try {
    const hcn = hcnOverDriver(driver, { clock: host.clock, timeLimitMs: hcnTimeLimitMs })
    return { ...(await kernelspace.findLeftovers({ hcn, owned }, signal)), [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}

async function onInterfaces({ host, stateDir, log = silentLogger }: CleanupPlace, signal: AbortSignal) {
  const { exec, clock } = host
  const owned = await openOwnedObjects({ path: serviceAddressesPath(stateDir, host), log })
  const openNetsh = (interfaceName: string) => new CommandNetsh({ exec, clock, interfaceName })
  return { ...nothingOpen, ...(await userspace.findLeftovers({ owned, openNetsh }, signal)) }
}
