import type { FlagValues } from '../flags/flag.ts'
import { ebpfFlags } from './ebpf-flags.ts'
import { fairleadFlags } from './fairlead-flags.ts'
import { loggingFlags } from './logging-flags.ts'
import { processFlags } from './process-flags.ts'
import { proxyFlags } from './proxy-flags.ts'
import { windowsFlags } from './windows-flags.ts'

/** In the order of the help: kube-proxy's, then Fairlead's own. */
export const daemonFlags = {
  ...processFlags,
  ...proxyFlags,
  ...loggingFlags,
  ...windowsFlags,
  ...fairleadFlags,
  ...ebpfFlags,
} as const

export type DaemonFlagValues = FlagValues<typeof daemonFlags>
export type DaemonFlagName = keyof typeof daemonFlags
