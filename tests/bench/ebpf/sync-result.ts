/** What one process measured. */
export interface SyncResult {
  readonly firstMs: number
  readonly firstCpuMs: number
  readonly changesMs: readonly number[]
  /** An average. */
  readonly changeCpuMs: number
  readonly residentMb: number
  /** Of the kernel, for eBPF. */
  readonly mapsMb: number
}
