/** What a peer that watches the whole cluster still has to be told. */
import { nodeInfo } from '../model/cluster-model.ts'
import type { ClusterNode } from '../model/cluster-model.ts'
import { NodeInfo } from '../proto/generated/globalv1/api.ts'
import { Set as Sets } from '../proto/generated/localv1/api.ts'
import { compareBytes } from '../wire/byte-order.ts'
import { deleteFrame, setFrame } from '../wire/op-frames.ts'
import { globalNodePath } from '../wire/paths.ts'
import { ChangeSetPosition } from './change-set.ts'
import type { GlobalStore, StoreReader } from './global-store.ts'
import { eachAlone } from './op-bytes.ts'
import type { OpBytes } from './op-bytes.ts'
import { diffItems } from './op-items.ts'
import type { GlobalView } from './service-state.ts'

export interface GlobalCursorOptions {
  readonly store: GlobalStore
  readonly onExpired: () => void
}

const nothing: GlobalView = { services: [], endpoints: [] }

export class GlobalCursor implements StoreReader, Disposable {
  readonly #options: GlobalCursorOptions
  readonly #remove: () => void
  #revision = 0

  constructor(options: GlobalCursorOptions) {
    this.#options = options
    this.#remove = options.store.addReader(this)
  }

  get revision(): number {
    return this.#revision
  }

  expire(): void {
    this.#options.onExpired()
  }

  /** Undefined when the peer is up to date. */
  advance(): Iterable<OpBytes> | undefined {
    const { store } = this.#options
    const before = this.#revision
    this.#revision = store.revision
    const isFirst = before === 0
    const nodeSets = new ChangeSetPosition('ascending')
    const serviceSets = new ChangeSetPosition('ascending')
    const endpointSets = new ChangeSetPosition('ascending')
    const endpointDeletes = new ChangeSetPosition('descending')
    const serviceDeletes = new ChangeSetPosition('descending')
    const nodeDeletes = new ChangeSetPosition('descending')
    for (const name of isFirst ? store.nodes.keys() : store.nodes.changedSince(before)) {
      const known = isFirst ? undefined : store.nodes.at(name, before)
      const node = store.nodes.latest(name)
      const path = globalNodePath(name)
      if (node === undefined && known !== undefined) nodeDeletes.add(path, [deleteFrame(Sets.GlobalNodeInfos, path)])
      else if (node !== undefined && node.hash !== known?.hash) nodeSets.add(path, [nodeFrame(node)])
    }
    for (const path of isFirst ? store.services.keys() : store.services.changedSince(before)) {
      const known = (isFirst ? undefined : store.services.at(path, before)?.globalView()) ?? nothing
      const view = store.services.latest(path)?.globalView() ?? nothing
      const services = diffItems(known.services, view.services, compareBytes)
      const endpoints = diffItems(known.endpoints, view.endpoints, compareBytes)
      const prefix = `${path.replace('/', '|')}|`
      serviceSets.add(prefix, services.sets)
      endpointSets.add(prefix, endpoints.sets)
      endpointDeletes.add(prefix, endpoints.deletes)
      serviceDeletes.add(prefix, services.deletes)
    }
    const frames: Buffer[] = []
    for (const position of [nodeSets, serviceSets, endpointSets, endpointDeletes, serviceDeletes, nodeDeletes])
      position.appendTo(frames)
    return frames.length === 0 ? undefined : eachAlone(frames)
  }

  [Symbol.dispose](): void {
    this.#remove()
  }
}

function nodeFrame(node: ClusterNode): Buffer {
  return setFrame(Sets.GlobalNodeInfos, globalNodePath(node.node.Name), NodeInfo.encode(nodeInfo(node)).finish())
}
