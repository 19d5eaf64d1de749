/** What has to be sent to a peer that watches the whole cluster. */
import { nodeInfo, type ClusterNode } from '../model/cluster-model.ts'
import { NodeInfo } from '../proto/generated/globalv1/api.ts'
import { Set as Sets } from '../proto/generated/localv1/api.ts'
import { compareBytes } from '../wire/byte-order.ts'
import { deleteFrame, setFrame } from '../wire/op-frames.ts'
import { globalNodePath } from '../wire/paths.ts'
import type { GlobalStore, StoreReader } from './global-store.ts'
import { eachAlone, type OpBytes } from './op-bytes.ts'
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

  /** Returns nothing if the peer is up to date. */
  advance(): Iterable<OpBytes> | undefined {
    const { store } = this.#options
    const before = this.#revision
    this.#revision = store.revision
    const isFirst = before === 0
    const nodeSets = new SortedFrames('ascending')
    const serviceSets = new SortedFrames('ascending')
    const endpointSets = new SortedFrames('ascending')
    const endpointDeletes = new SortedFrames('descending')
    const serviceDeletes = new SortedFrames('descending')
    const nodeDeletes = new SortedFrames('descending')
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
    for (const sorted of [nodeSets, serviceSets, endpointSets, endpointDeletes, serviceDeletes, nodeDeletes])
      sorted.appendTo(frames)
    return frames.length === 0 ? undefined : eachAlone(frames)
  }

  [Symbol.dispose](): void {
    this.#remove()
  }
}

function nodeFrame(node: ClusterNode): Buffer {
  return setFrame(Sets.GlobalNodeInfos, globalNodePath(node.node.Name), NodeInfo.encode(nodeInfo(node)).finish())
}

/**
 * Frames in the order of their paths. Sets are sent in ascending order and deletes in descending order, so that a
 * Service exists before its endpoints and is removed after them.
 */
class SortedFrames {
  readonly #parts: { readonly prefix: string; readonly frames: readonly Buffer[] }[] = []
  readonly #direction: 1 | -1

  constructor(order: 'ascending' | 'descending') {
    this.#direction = order === 'ascending' ? 1 : -1
  }

  /** The path of each of these frames, and of no others, begins with `prefix`. */
  add(prefix: string, frames: readonly Buffer[]): void {
    if (frames.length > 0) this.#parts.push({ prefix, frames })
  }

  appendTo(frames: Buffer[]): void {
    this.#parts.sort((left, right) => this.#direction * compareBytes(left.prefix, right.prefix))
    for (const part of this.#parts) for (const frame of part.frames) frames.push(frame)
  }
}
