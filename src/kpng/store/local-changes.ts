/** How a node's view of Services differs from what it was, in the order that every peer can follow. */
import { compareBytes } from '../wire/byte-order.ts'
import type { LocalView } from './local-view.ts'
import { diffItems } from './op-items.ts'
import type { ItemChanges, OpItem } from './op-items.ts'
import type { PathOrder } from './path-order.ts'

/** Of one Service. */
export interface LocalChanges {
  readonly service: ItemChanges
  readonly named: ItemChanges
  readonly anonymous: ItemChanges
}

/** Undefined when there are none. */
export function localChanges(before: LocalView | undefined, after: LocalView | undefined): LocalChanges | undefined {
  if (before === after) return undefined
  return {
    service: diffItems(listOf(before?.service), listOf(after?.service), compareBytes),
    named: diffItems(before?.named ?? none, after?.named ?? none, compareBytes),
    anonymous: diffItems(before?.anonymous ?? none, after?.anonymous ?? none, compareBytes),
  }
}

/** What is set goes up, what is deleted comes down: so a Service is there before its endpoints, and goes after them. */
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
