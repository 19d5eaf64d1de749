/** How a node's view of Services has changed, in the order that every peer can follow. */
import { compareBytes } from '../wire/byte-order.ts'
import type { LocalView } from './local-view.ts'
import { diffItems } from './op-items.ts'
import type { ItemChanges, OpItem } from './op-items.ts'
import type { PathOrder } from './path-order.ts'

/** For one Service. */
export interface LocalChanges {
  readonly service: ItemChanges
  readonly named: ItemChanges
  readonly anonymous: ItemChanges
}

export function localChanges(before: LocalView | undefined, after: LocalView | undefined): LocalChanges | undefined {
  if (before === after) return undefined
  return {
    service: diffItems(listOf(before?.service), listOf(after?.service), compareBytes),
    named: diffItems(before?.named ?? none, after?.named ?? none, compareBytes),
    anonymous: diffItems(before?.anonymous ?? none, after?.anonymous ?? none, compareBytes),
  }
}

/**
 * Sets are sent in ascending order and deletes in descending order, so that a Service exists before its endpoints and
 * is removed after them.
 */
export function localFrames(order: PathOrder, changesOf: (path: string) => LocalChanges | undefined): Buffer[] {
  const services = order.paths.map(changesOf)
  const endpoints = order.prefixes.map(changesOf)
  const frames: Buffer[] = []
  for (const changes of services) append(frames, changes?.service.sets)
  for (let i = endpoints.length - 1; i >= 0; i--) append(frames, endpoints[i]?.anonymous.deletes)
  for (const changes of endpoints) append(frames, changes?.named.sets)
  for (let i = endpoints.length - 1; i >= 0; i--) append(frames, endpoints[i]?.named.deletes)
  for (const changes of endpoints) append(frames, changes?.anonymous.sets)
  for (let i = services.length - 1; i >= 0; i--) append(frames, services[i]?.service.deletes)
  return frames
}

function append(frames: Buffer[], more: readonly Buffer[] = []): void {
  for (const frame of more) frames.push(frame)
}

const none: readonly OpItem[] = []

function listOf(item: OpItem | undefined): readonly OpItem[] {
  return item === undefined ? none : [item]
}
