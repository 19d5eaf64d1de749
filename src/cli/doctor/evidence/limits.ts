/** What the process may use: files, and the memory and processes of its control group. */
import type { Host } from '../../host/host.ts'

export interface LimitFacts {
  /** Whose limits these are. */
  readonly of: string
  readonly openFiles: number | undefined
  readonly memory: Usage | undefined
  readonly processes: Usage | undefined
}

interface Usage {
  readonly path: string
  readonly used: number
  readonly limit: number
}

/** Those of the daemon, if it runs and can be seen; else those of this process, which starts like it. */
export async function readLimits(
  host: Pick<Host, 'readTextFile' | 'process' | 'platform'>,
  daemonPid: number | undefined,
): Promise<LimitFacts> {
  const self = daemonPid === undefined ? 'self' : String(daemonPid)
  const read = (path: string) => host.readTextFile(path).catch(() => undefined)
  const limits = await read(`/proc/${self}/limits`)
  const openFiles = /^Max open files\s+(\d+)/m.exec(limits ?? '')?.[1]
  const groups = (await read(`/proc/${self}/cgroup`)) ?? ''
  return {
    of: daemonPid === undefined ? 'this process' : `the daemon (process ${daemonPid})`,
    openFiles: openFiles === undefined ? await host.process.openFilesLimit() : Number(openFiles),
    memory: await usage(
      groups,
      'memory',
      ['memory.current', 'memory.max'],
      ['memory.usage_in_bytes', 'memory.limit_in_bytes'],
      read,
    ),
    processes: await usage(groups, 'pids', ['pids.current', 'pids.max'], ['pids.current', 'pids.max'], read),
  }
}

type Read = (path: string) => Promise<string | undefined>

/** In a container the group is mounted at the root; else it has its path. */
async function usage(
  groups: string,
  controller: string,
  v2: readonly [string, string],
  v1: readonly [string, string],
  read: Read,
): Promise<Usage | undefined> {
  const unified = /^0::(.*)$/m.exec(groups)?.[1]
  const old = new RegExp(`^\\d+:(?:[^:]*,)?${controller}(?:,[^:]*)?:(.*)$`, 'm').exec(groups)?.[1]
  const places: (readonly [folder: string, names: readonly [string, string]])[] = [
    ...(unified === undefined
      ? []
      : ([
          [`/sys/fs/cgroup${unified}`, v2],
          ['/sys/fs/cgroup', v2],
        ] as const)),
    ...(old === undefined
      ? []
      : ([
          [`/sys/fs/cgroup/${controller}${old}`, v1],
          [`/sys/fs/cgroup/${controller}`, v1],
        ] as const)),
  ]
  for (const [folder, [current, max]] of places) {
    const [used, limit] = [await read(`${folder}/${current}`), await read(`${folder}/${max}`)]
    if (used === undefined || limit === undefined || !/^\d+\s*$/.test(limit)) continue
    // What was read from files and can go at any time counts as used, too.
    const stat = controller === 'memory' ? await read(`${folder}/memory.stat`) : undefined
    const cached = /^(?:total_)?inactive_file (\d+)$/m.exec(stat ?? '')?.[1]
    return { path: `${folder}/${max}`, used: Math.max(0, Number(used) - Number(cached ?? 0)), limit: Number(limit) }
  }
  return undefined
}
