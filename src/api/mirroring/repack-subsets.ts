/**
 * The subsets of an Endpoints object as mirroring needs them: each set of ports once, with the addresses that have it.
 */
import { isJsonObject } from '../json-reader.ts'
import type { JsonObject } from '../json-reader.ts'

export interface RepackedSubset {
  readonly ports: readonly JsonObject[]
  /** Ordered by address. If one subset says that an address is ready and another that it is not, it is not. */
  readonly ready: readonly JsonObject[]
  readonly notReady: readonly JsonObject[]
}

interface KnownAddress {
  readonly address: JsonObject
  readonly order: string
}

/** Addresses are equal if address and target are: two pods may share the address of their node. */
export function repackSubsets(endpoints: JsonObject): readonly RepackedSubset[] {
  const knownByIdentity = new Map<string, KnownAddress>()
  const groupsByPort = new Map<
    string,
    { readonly port: JsonObject | undefined; readonly isReady: Map<KnownAddress, boolean> }
  >()

  const note = (address: JsonObject, port: JsonObject | undefined, ready: boolean) => {
    const identity = identityOf(address)
    const known = knownByIdentity.get(identity) ?? { address, order: identity }
    knownByIdentity.set(identity, known)
    const portKey = port === undefined ? '' : keyOfPort(port)
    const group = groupsByPort.get(portKey) ?? { port, isReady: new Map<KnownAddress, boolean>() }
    groupsByPort.set(portKey, group)
    group.isReady.set(known, ready && (group.isReady.get(known) ?? true))
  }
  for (const subset of objectsOf(endpoints['subsets'])) {
    const ports = objectsOf(subset['ports'])
    for (const port of ports.length === 0 ? [undefined] : ports) {
      for (const address of objectsOf(subset['addresses'])) note(address, port, true)
      for (const address of objectsOf(subset['notReadyAddresses'])) note(address, port, false)
    }
  }

  const subsetsByAddresses = new Map<
    string,
    { readonly ports: JsonObject[]; readonly members: readonly (readonly [KnownAddress, boolean])[] }
  >()
  for (const { port, isReady } of groupsByPort.values()) {
    const members = [...isReady].sort(([left], [right]) => (left.order < right.order ? -1 : 1))
    const key = JSON.stringify(members.map(([{ order }, ready]) => [order, ready]))
    const subset = subsetsByAddresses.get(key) ?? { ports: [], members }
    subsetsByAddresses.set(key, subset)
    if (port !== undefined) subset.ports.push(port)
  }
  return Array.from(subsetsByAddresses.values(), ({ ports, members }) => ({
    ports: ports.toSorted((left, right) => (keyOfPort(left) < keyOfPort(right) ? -1 : 1)),
    ready: members.filter(([, ready]) => ready).map(([{ address }]) => address),
    notReady: members.filter(([, ready]) => !ready).map(([{ address }]) => address),
  }))
}

/** Two ports are the same if this is equal. */
export function keyOfPort({ name, protocol, port, appProtocol }: JsonObject): string {
  return JSON.stringify([name ?? '', protocol ?? 'TCP', port ?? 0, appProtocol ?? null])
}

function identityOf({ ip, targetRef }: JsonObject): string {
  return JSON.stringify([ip, isJsonObject(targetRef) ? (targetRef['uid'] ?? '') : ''])
}

function objectsOf(list: unknown): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : []
}
