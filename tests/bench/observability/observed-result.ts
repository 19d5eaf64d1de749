/** What one process measured. */
export interface ObservedResult {
  readonly firstMs: number
  readonly firstCpuMs: number
  readonly changeMs: number
  readonly changeCpuMs: number
  readonly residentMb: number
}
