import type { Host } from '../../host/host.ts'

export interface BridgeFacts {
  /** Bridges of this machine, with their addresses. */
  readonly bridges: readonly { readonly name: string; readonly addresses: readonly string[] }[]
}

export async function readBridges(host: Pick<Host, 'networkInterfaces' | 'readTextFile'>): Promise<BridgeFacts> {
  const found = await Promise.all(
    Object.entries(host.networkInterfaces()).map(async ([name, addresses]) => {
      const isBridge = await host.readTextFile(`/sys/class/net/${name}/bridge/bridge_id`).then(
        () => true,
        () => false,
      )
      return isBridge ? [{ name, addresses: (addresses ?? []).map(({ address }) => address) }] : []
    }),
  )
  return { bridges: found.flat() }
}
