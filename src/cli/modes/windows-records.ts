/** Where the modes of Windows write down what is theirs, because the system does not tell. */
import { join } from 'node:path'
import type { Host } from '../host/host.ts'

/** Load balancers and endpoints of HNS, of the kernelspace mode. */
export function hnsObjectsPath(stateDir: string, host: Pick<Host, 'env'>): string {
  return join(folderOf(stateDir, host), 'hns-objects')
}

/** Addresses of interfaces, of the userspace mode. */
export function serviceAddressesPath(stateDir: string, host: Pick<Host, 'env'>): string {
  return join(folderOf(stateDir, host), 'service-addresses')
}

/** `--state-dir`, or where programs of Windows keep such things. */
function folderOf(stateDir: string, { env }: Pick<Host, 'env'>): string {
  return stateDir === '' ? join(env['ProgramData'] ?? String.raw`C:\ProgramData`, 'fairlead') : stateDir
}
