/** Netfilter's messages: the type is a subsystem and a command, and four bytes come before the attributes. */
import type { Family } from '../../net/ip.ts'
import { skip } from './attribute.ts'
import type { Slice } from './attribute.ts'
import type { NetlinkMessage } from './message.ts'

const netfilterSubsystem = { conntrack: 1, accounting: 7 } as const

export type NetfilterSubsystem = keyof typeof netfilterSubsystem

export function netfilterType(subsystem: NetfilterSubsystem, command: number): number {
  return (netfilterSubsystem[subsystem] << 8) | command
}

/** The body of a request: family, version 0, resource 0, then the attributes. */
export function netfilterBody(family: Family | 'unspecified', ...attributes: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.of(familyNumber[family], 0, 0, 0), ...attributes])
}

/** Netfilter has other families, too, such as bridges. */
export function netfilterFamily({ body }: NetlinkMessage): Family | undefined {
  const number = body.buffer[body.from]
  return number === familyNumber.ipv4 ? 'ipv4' : number === familyNumber.ipv6 ? 'ipv6' : undefined
}

export function netfilterAttributes({ body }: NetlinkMessage): Slice {
  return skip(body, 4)
}

const familyNumber = { unspecified: 0, ipv4: 2, ipv6: 10 } as const
