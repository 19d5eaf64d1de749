/** The proxy modes of this build. */
import { CommandError } from '../program.ts'
import { iptablesMode } from './iptables-mode.ts'
import { ipvsMode } from './ipvs-mode.ts'
import type { Mode } from './mode.ts'
import { nftablesMode } from './nftables-mode.ts'
import { userspaceMode } from './userspace-mode.ts'

const builtModes: readonly Mode[] = [iptablesMode, ipvsMode, nftablesMode, userspaceMode]

const plannedModes = ['kernelspace']

/** `configFile` is the one that named the mode, or empty: then the command line did. */
export function findMode(name: string, configFile = ''): Mode {
  const mode = builtModes.find((built) => built.name === name)
  if (mode !== undefined) return mode
  const known = builtModes.map((built) => built.name).join(', ')
  const what = plannedModes.includes(name) ? 'is not built yet' : 'is unknown'
  const wayOut = configFile === '' ? 'choose --proxy-mode=MODE' : `set "mode" in ${configFile} to one`
  throw new CommandError(`proxy mode "${name}" ${what}: ${wayOut} from ${known}`)
}
