import { readFile } from 'node:fs/promises'

/** What a process has cost so far, as Linux counts it. */
export interface DaemonCost {
  /** Of its own threads. */
  readonly ownCpuMs: number
  /** Of the programs that it has run to their end. */
  readonly toolsCpuMs: number
  /** Resident memory now, and the most there ever was, in megabytes (10⁶ bytes). */
  readonly residentMb: number
  readonly peakMb: number
}

export async function daemonCost(pid: number | 'self'): Promise<DaemonCost> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const megabytes = (field: string) =>
    (Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024) / 1e6
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  // The second field is the name in brackets, which may hold spaces; user and system time are fields 14 to 17.
  const [own = NaN, ownSystem = NaN, tools = NaN, toolsSystem = NaN] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map((ticks) => Number(ticks) * msPerTick)
  return {
    ownCpuMs: own + ownSystem,
    toolsCpuMs: tools + toolsSystem,
    residentMb: megabytes('VmRSS'),
    peakMb: megabytes('VmHWM'),
  }
}

/** Linux shows times to programs in hundredths of a second, whatever it counts with inside. */
const msPerTick = 10
