/** How a node's view of some Services differs from what it was, in the order that every peer can follow. */
import { compareBytes } from '../wire/byte-order.ts'
import { ChangeSetPosition } from './change-set.ts'
import type { LocalView } from './local-view.ts'
import { diffItems } from './op-items.ts'
import type { ItemChanges, OpItem } from './op-items.ts'

export class LocalChanges {
  readonly #serviceSets = new ChangeSetPosition('ascending')
  readonly #anonymousDeletes = new ChangeSetPosition('descending')
  readonly #namedSets = new ChangeSetPosition('ascending')
  readonly #namedDeletes = new ChangeSetPosition('descending')
  readonly #anonymousSets = new ChangeSetPosition('ascending')
  readonly #serviceDeletes = new ChangeSetPosition('descending')

  add(path: string, before: LocalView | undefined, after: LocalView | undefined): void {
    if (before === after) return
    const { service, named, anonymous } = viewChanges(before, after)
    const prefix = `${path}/`
    this.#serviceSets.add(path, service.sets)
    this.#anonymousDeletes.add(prefix, anonymous.deletes)
    this.#namedSets.add(prefix, named.sets)
    this.#namedDeletes.add(prefix, named.deletes)
    this.#anonymousSets.add(prefix, anonymous.sets)
    this.#serviceDeletes.add(path, service.deletes)
  }

  frames(): readonly Buffer[] {
    const frames: Buffer[] = []
    this.#serviceSets.appendTo(frames)
    this.#anonymousDeletes.appendTo(frames)
    this.#namedSets.appendTo(frames)
    this.#namedDeletes.appendTo(frames)
    this.#anonymousSets.appendTo(frames)
    this.#serviceDeletes.appendTo(frames)
    return frames
  }
}

interface ViewChanges {
  readonly service: ItemChanges
  readonly named: ItemChanges
  readonly anonymous: ItemChanges
}

function viewChanges(before: LocalView | undefined, after: LocalView | undefined): ViewChanges {
  return {
    service: diffItems(listOf(before?.service), listOf(after?.service), compareBytes),
    named: diffItems(before?.named ?? none, after?.named ?? none, compareBytes),
    anonymous: diffItems(before?.anonymous ?? none, after?.anonymous ?? none, compareBytes),
  }
}

const none: readonly OpItem[] = []

function listOf(item: OpItem | undefined): readonly OpItem[] {
  return item === undefined ? none : [item]
}
