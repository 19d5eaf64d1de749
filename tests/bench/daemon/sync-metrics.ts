/** What both proxies say about their syncs of IPv4. */
export interface SyncMetrics {
  readonly full: Syncs
  readonly partial: Syncs
  /** Not every mode of kube-proxy tells the two kinds apart. */
  readonly all: Syncs
  /** When the last successful sync ended, in Unix time. */
  readonly syncedAtMs: number
}

interface Syncs {
  readonly count: number
  /** Of all of them together. */
  readonly ms: number
}

export function parseSyncMetrics(text: string): SyncMetrics {
  const value = (name: string) => {
    const line = new RegExp(`^${name}\\{ip_family="IPv4"\\} (\\S+)$`, 'm').exec(text)
    return Number(line?.[1] ?? 0)
  }
  const syncs = (kind: string) => {
    const name = `kubeproxy_sync_${kind}proxy_rules_duration_seconds`
    return { count: value(`${name}_count`), ms: value(`${name}_sum`) * 1000 }
  }
  return {
    full: syncs('full_'),
    partial: syncs('partial_'),
    all: syncs(''),
    syncedAtMs: value('kubeproxy_sync_proxy_rules_last_timestamp_seconds') * 1000,
  }
}
