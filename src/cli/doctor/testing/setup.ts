/** A node as the doctor is told about it, with the configuration that no flag gives. */
import { parseDaemonCommandLine } from '../../../config/daemon/parse-daemon-command-line.ts'
import { loadConfig } from '../../daemon/load-config.ts'
import { memoryHost } from '../../host/testing/memory-host.ts'
import type { Setup } from '../setup.ts'

export async function setupWith(flags: readonly string[] = [], change: Partial<Setup> = {}): Promise<Setup> {
  const { platform = 'linux' } = change
  const parsed = parseDaemonCommandLine(flags, platform)
  if (parsed.kind !== 'run') throw new Error(`no such flags: ${flags.join(' ')}`)
  const { config } = await loadConfig(parsed.options, memoryHost({ platform }))
  return {
    platform,
    config,
    nodeName: 'node-a',
    stateDir: '',
    objects: [],
    logFile: '',
    clientAddress: 'auto',
    ebpf: parsed.options.ebpf,
    isBeforeStart: false,
    isRoot: true,
    cpus: 2,
    kernelRelease: '6.1.0',
    families: ['ipv4', 'ipv6'],
    ...change,
  }
}
