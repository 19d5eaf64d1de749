/** Netlink messages about routing rules and their routes. */
import type { Family } from '../../net/ip.ts'
import { attribute, findAttribute, skip, u32 } from '../netlink/attribute.ts'
import type { Slice } from '../netlink/attribute.ts'
import { messageFlag } from '../netlink/message.ts'
import type { NetlinkMessage } from '../netlink/message.ts'
import type { NetlinkRequest } from '../netlink/netlink.ts'
import type { DeliveryNumbers } from './marked-delivery.ts'

const messageType = { newRoute: 24, deleteRoute: 25, newRule: 32, deleteRule: 33, listRules: 34 } as const
const ruleField = { inDevice: 3, goTo: 4, priority: 6, mark: 10, table: 15, markMask: 16 } as const
const ruleAction = { toTable: 1, goTo: 2, nothing: 3 } as const
const routeField = { outDevice: 4, table: 15 } as const
const familyNumber = { ipv4: 2, ipv6: 10 } as const
/** The same size for rules and routes: family, prefix lengths, type of service, table and more, a byte each; then flags. */
const headerBytes = 12
/** The loopback device is always the first of a network namespace. */
const loopbackIndex = 1

/**
 * The rule that delivers, between two that let a question of the kernel itself pass it by. With
 * `net.ipv4.conf.all.src_valid_mark` (WireGuard sets it), and for `fib saddr . mark` of nft, the kernel looks for the way
 * back to a packet's source under the packet's mark; it must not find that every source is this machine. Such questions
 * come from `lo`, packets do not.
 */
export type RulePart = 'delivers' | 'passes by' | 'goes on'

/** In the order to add them: what is passed to must be there first. */
export const ruleParts: readonly RulePart[] = ['goes on', 'passes by', 'delivers']

export function newRule(family: Family, numbers: DeliveryNumbers, part: RulePart): NetlinkRequest {
  const flags = messageFlag.create | messageFlag.exclusive
  return { doing: `add ${ruleText(numbers)}`, type: messageType.newRule, flags, body: ruleBody(family, numbers, part) }
}

export function deleteRule(family: Family, numbers: DeliveryNumbers, part: RulePart): NetlinkRequest {
  return { doing: `remove ${ruleText(numbers)}`, type: messageType.deleteRule, body: ruleBody(family, numbers, part) }
}

export function listRules(family: Family): NetlinkRequest {
  const body = Buffer.alloc(headerBytes)
  body.writeUInt8(familyNumber[family], 0)
  return { doing: 'list the routing rules', type: messageType.listRules, body }
}

/** Makes every address local, for packets that are routed by this table. */
export function newRoute(family: Family, numbers: DeliveryNumbers): NetlinkRequest {
  const flags = messageFlag.create | messageFlag.exclusive
  return {
    doing: `fill ${tableText(numbers)}`,
    type: messageType.newRoute,
    flags,
    body: routeBody(family, numbers, fromUs),
  }
}

export function deleteRoute(family: Family, numbers: DeliveryNumbers): NetlinkRequest {
  return {
    doing: `empty ${tableText(numbers)}`,
    type: messageType.deleteRoute,
    body: routeBody(family, numbers, fromAnybody),
  }
}

/** Any of its parts: a process may have been killed between them. Others may have rules of their own with that number. */
export function isRule({ type, body }: NetlinkMessage, { mark, table, priority }: DeliveryNumbers): boolean {
  if (type !== messageType.newRule || body.to - body.from < headerBytes) return false
  const action = body.buffer.readUInt8(body.from + 7)
  const fields = skip(body, headerBytes)
  const isMarked = [ruleField.mark, ruleField.markMask].every((field) => number(findAttribute(fields, field)) === mark)
  if (!isMarked) return false
  switch (number(findAttribute(fields, ruleField.priority))) {
    case priority - 1:
      return action === ruleAction.goTo
    case priority:
      return action === ruleAction.toTable && number(findAttribute(fields, ruleField.table)) === table
    case priority + 1:
      return action === ruleAction.nothing
    case undefined:
    default:
      return false
  }
}

function number(field: Slice | undefined): number | undefined {
  return field === undefined || field.to - field.from !== 4 ? undefined : field.buffer.readUInt32LE(field.from)
}

function ruleBody(family: Family, { mark, table, priority }: DeliveryNumbers, part: RulePart): Buffer {
  const next = priority + 1
  const { action, at, fields } = {
    'passes by': {
      action: ruleAction.goTo,
      at: priority - 1,
      fields: [attribute(ruleField.inDevice, Buffer.from('lo\0')), attribute(ruleField.goTo, u32(next))],
    },
    delivers: { action: ruleAction.toTable, at: priority, fields: [attribute(ruleField.table, u32(table))] },
    'goes on': { action: ruleAction.nothing, at: next, fields: [] },
  }[part]
  const header = Buffer.alloc(headerBytes)
  header.writeUInt8(familyNumber[family], 0)
  header.writeUInt8(action, 7)
  return Buffer.concat([
    header,
    attribute(ruleField.priority, u32(at)),
    attribute(ruleField.mark, u32(mark)),
    attribute(ruleField.markMask, u32(mark)),
    ...fields,
  ])
}

/** To delete a route, its protocol and scope may be left open. */
const fromUs = { protocol: 4, scope: 254 } as const
const fromAnybody = { protocol: 0, scope: 255 } as const

function routeBody(
  family: Family,
  { table }: DeliveryNumbers,
  { protocol, scope }: typeof fromUs | typeof fromAnybody,
): Buffer {
  const isLocal = 2
  const header = Buffer.alloc(headerBytes)
  header.writeUInt8(familyNumber[family], 0)
  header.writeUInt8(protocol, 5)
  header.writeUInt8(scope, 6)
  header.writeUInt8(isLocal, 7)
  return Buffer.concat([
    header,
    attribute(routeField.table, u32(table)),
    attribute(routeField.outDevice, u32(loopbackIndex)),
  ])
}

function ruleText({ mark, table }: DeliveryNumbers): string {
  return `the routing rule from mark 0x${mark.toString(16)} to table ${table}`
}

function tableText({ table }: DeliveryNumbers): string {
  return `the routing table ${table}`
}
