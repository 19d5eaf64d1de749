/** The proxy modes of this build. */
import type { ProxyMode } from '../../config/proxy-config.ts'
import { CommandError } from '../program.ts'
import type { Mode } from './mode.ts'

type LoadMode = () => Promise<Mode>

/** In all modes of Linux node ports may be on localhost, too. */
function besideListeners(load: LoadMode): LoadMode {
  return async () => (await import('./localhost-node-ports.ts')).withLocalhostNodePorts(await load())
}

/** A process runs one of them, and never needs the others. */
const modes: ReadonlyMap<ProxyMode, LoadMode> = new Map([
  ['iptables', besideListeners(async () => (await import('./iptables-mode.ts')).iptablesMode)],
  ['ipvs', besideListeners(async () => (await import('./ipvs-mode.ts')).ipvsMode)],
  ['ebpf', besideListeners(async () => (await import('./ebpf-mode.ts')).ebpfMode)],
  ['nftables', besideListeners(async () => (await import('./nftables-mode.ts')).nftablesMode)],
  ['userspace', besideListeners(async () => (await import('./userspace-mode.ts')).userspaceMode)],
])

/** On Windows. */
const windowsModes: ReadonlyMap<ProxyMode, LoadMode> = new Map([
  ['kernelspace', async () => (await import('./kernelspace-mode.ts')).kernelspaceMode],
  ['userspace', async () => (await import('./windows-userspace-mode.ts')).windowsUserspaceMode],
])

/** The mode has been checked already: the configuration has only those that its system has. */
export function findMode(name: ProxyMode, platform: NodeJS.Platform): Promise<Mode> {
  const load = (platform === 'win32' ? windowsModes : modes).get(name)
  if (load === undefined) throw new CommandError(`there is no proxy mode "${name}" on ${platform}`)
  return load()
}
