/** The proxy modes of this build. */
import { CommandError } from '../program.ts'
import type { Mode } from './mode.ts'

/** A process runs one of them, and never needs the others. */
const builtModes: ReadonlyMap<string, () => Promise<Mode>> = new Map([
  ['iptables', async () => (await import('./iptables-mode.ts')).iptablesMode],
  ['ipvs', async () => (await import('./ipvs-mode.ts')).ipvsMode],
  ['nftables', async () => (await import('./nftables-mode.ts')).nftablesMode],
  ['userspace', async () => (await import('./userspace-mode.ts')).userspaceMode],
])

const plannedModes = ['kernelspace']

/** `configFile` is the one that named the mode, or empty: then the command line did. */
export async function findMode(name: string, configFile = ''): Promise<Mode> {
  const load = builtModes.get(name)
  if (load !== undefined) return load()
  const known = [...builtModes.keys()].join(', ')
  const what = plannedModes.includes(name) ? 'is not built yet' : 'is unknown'
  const wayOut = configFile === '' ? 'choose --proxy-mode=MODE' : `set "mode" in ${configFile} to one`
  throw new CommandError(`proxy mode "${name}" ${what}: ${wayOut} from ${known}`)
}
