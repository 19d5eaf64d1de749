/** What one process measured. */
export interface ConsoleResult {
  /** Before anybody looks and anything changes, after a garbage collection. */
  readonly heapMb: number
  readonly residentMb: number
  readonly timers: number
  /** While objects change: milliseconds of CPU time in each second. */
  readonly cpuMsPerSecond: number
  readonly viewer?: ViewerResult
}

export interface ViewerResult {
  /** The whole list of Services: how long it took to come, and what it cost the daemon. */
  readonly listMs: number
  readonly listCpuMs: number
  readonly messagesPerSecond: number
  readonly kilobytesPerSecond: number
  /** From a change in the catalog to its row at the viewer. */
  readonly delayMs: { readonly median: number; readonly most: number }
}
