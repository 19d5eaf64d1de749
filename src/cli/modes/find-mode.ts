/** The proxy modes of this build. */
import type { ProxyMode } from '../../config/proxy-config.ts'
import { CommandError } from '../program.ts'
import type { Mode } from './mode.ts'

type LoadMode = () => Promise<Mode>

/** A process runs one of them, and never needs the others. */
const builtModes: ReadonlyMap<string, LoadMode> = new Map<ProxyMode, LoadMode>([
  ['iptables', async () => (await import('./iptables-mode.ts')).iptablesMode],
  ['ipvs', async () => (await import('./ipvs-mode.ts')).ipvsMode],
  ['nftables', async () => (await import('./nftables-mode.ts')).nftablesMode],
  ['userspace', async () => (await import('./userspace-mode.ts')).userspaceMode],
])

/** Those that are other ones on Windows, or only there. */
const windowsModes: ReadonlyMap<string, LoadMode> = new Map<ProxyMode, LoadMode>()

const plannedModes = ['kernelspace']

interface Asking {
  readonly platform: NodeJS.Platform
  /** The one that named the mode, or empty: then the command line did. */
  readonly configFile?: string
}

export async function findMode(name: string, { platform, configFile = '' }: Asking): Promise<Mode> {
  const load = (platform === 'win32' ? windowsModes.get(name) : undefined) ?? builtModes.get(name)
  if (load !== undefined) return load()
  const known = [...builtModes.keys()].join(', ')
  const what = plannedModes.includes(name) ? 'is not built yet' : 'is unknown'
  const wayOut = configFile === '' ? 'choose --proxy-mode=MODE' : `set "mode" in ${configFile} to one`
  throw new CommandError(`proxy mode "${name}" ${what}: ${wayOut} from ${known}`)
}
