import { readFileSync } from 'node:fs'

/** What a process has cost so far. */
export interface ProcessCost {
  /** Resident memory now, and the most there ever was, in megabytes (10⁶ bytes). */
  readonly residentMb: number
  readonly peakMb: number
  /** Of all its threads, in user code and in the kernel. On a busy machine it says more than the clock. */
  readonly cpuMs: number
}

/** Memory as Linux counts it for the whole process: what `top` shows, and what a pod is charged for. */
export function processCost(): ProcessCost {
  const status = readFileSync('/proc/self/status', 'utf8')
  const megabytes = (field: string) =>
    (Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024) / 1e6
  const { user, system } = process.cpuUsage()
  return { residentMb: megabytes('VmRSS'), peakMb: megabytes('VmHWM'), cpuMs: (user + system) / 1000 }
}
