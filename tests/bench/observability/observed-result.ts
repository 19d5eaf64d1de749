/** What something took: by the clock, and of all threads of the process; and how much memory the process has now. */
export interface Cost {
  readonly ms: number
  readonly cpuMs: number
  readonly residentMb: number
}
