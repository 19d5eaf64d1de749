/** Generic netlink: families are found by name, and four bytes come before the attributes. */
import { attribute, cString, findAttribute, skip } from './attribute.ts'
import type { Slice } from './attribute.ts'
import type { NetlinkMessage } from './message.ts'
import { NetlinkError } from './netlink-error.ts'
import type { Netlink } from './netlink.ts'

/** The family that knows all families, and has a fixed number. */
const controller = { type: 0x10, getFamily: 3, familyId: 1, familyName: 2 } as const

/**
 * The message type of a family. It changes each time the family's module is loaded, so do not keep it. Rejects with
 * reason `not-found` if neither the kernel nor a module has such a family.
 */
export async function genericType(socket: Netlink, family: string, signal: AbortSignal): Promise<number> {
  const doing = `find the kernel's netlink family ${family}`
  const body = genericBody(controller.getFamily, attribute(controller.familyName, cString(family)))
  const [answer] = await socket.request({ doing, type: controller.type, body }, signal)
  const id = answer && findAttribute(genericAttributes(answer), controller.familyId)
  if (id === undefined) throw new NetlinkError('failed', `cannot ${doing}: the answer has no number`)
  return id.buffer.readUInt16LE(id.from)
}

/** The body of a request: command, version 1, two spare bytes, then the attributes. */
export function genericBody(command: number, ...attributes: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.of(command, 1, 0, 0), ...attributes])
}

export function genericAttributes({ body }: NetlinkMessage): Slice {
  return skip(body, 4)
}
