import type { ProxyMetrics } from '../proxy-metrics.ts'

/** Metrics nobody reads; tests override what they watch. */
export function noMetrics(watched: Partial<ProxyMetrics> = {}): ProxyMetrics {
  return {
    serviceChange() {},
    endpointChange() {},
    pendingChanges() {},
    syncRequested() {},
    syncRan() {},
    syncSucceeded() {},
    programmed() {},
    noLocalEndpoints() {},
    objectProblem() {},
    ...watched,
  }
}
