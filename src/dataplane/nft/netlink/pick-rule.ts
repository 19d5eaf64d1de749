/**
 * The one kind of rule that we compile ourselves: `dnat` to what a map says about the packet and a number. nft
 * (1.0.6 at least) refuses it as "conflicting protocols" unless the map is declared in the same script. The byte code is
 * what nft makes of it there, so nft can list it.
 */
import type { Family } from '../../../net/ip.ts'
import type { BatchWriter } from './batch-writer.ts'
import { writeComment } from './comment-user-data.ts'
import { hashSeed } from '../rule.ts'
import type { DestinationField, DnatByMap, Rule } from '../rule.ts'
import { expressionField, familyNumber, listItem, ruleField } from '../../nf-tables/protocol-numbers.ts'

export interface PickRule {
  readonly dnat: DnatByMap
  readonly comment: string | undefined
}

/** Undefined when it is another kind of rule. */
export function asPickRule({ statements, comment }: Rule): PickRule | undefined {
  const [dnat] = statements
  return dnat?.kind === 'dnat by map' && statements.length === 1 ? { dnat, comment } : undefined
}

/** Into a message that adds a rule, after the names of table and chain. */
export function writePickRule(writer: BatchWriter, { dnat, comment = '' }: PickRule, family: Family): void {
  const { fields, map } = dnat
  writer.ensureRoom(1024 + 4 * (map.length + comment.length))
  const addressBytes = family === 'ipv4' ? 4 : 16
  const expressions = writer.beginNested(ruleField.expressions)
  let offset = 0
  for (const field of fields) {
    writeLoad(writer, field, register(offset), family)
    offset += field === 'destination' ? addressBytes : 4
  }
  writeIndex(writer, dnat, register(offset), family)
  // In a map of ranges the number has the byte order of the network.
  if (dnat.keepsPort === true) writeTurnAround(writer, register(offset))
  const lookup = beginExpression(writer, 'lookup')
  writer.number(lookupField.from, register(0))
  writer.number(lookupField.into, register(0))
  writer.text(lookupField.set, map)
  endExpression(writer, lookup)
  expression(writer, 'nat', [
    [natField.type, destinationNat],
    [natField.family, familyNumber[family]],
    [natField.address, register(0)],
    ...(dnat.keepsPort === true ? [] : [[natField.port, register(addressBytes)] as const]),
  ])
  writer.endNested(expressions)
  if (comment !== '') writeComment(writer, ruleField.userData, comment)
}

const numgenField = { into: 1, modulus: 2, type: 3, offset: 4 } as const
const hashField = { from: 1, into: 2, bytes: 3, modulus: 4, seed: 5, type: 7 } as const
const lookupField = { set: 1, from: 2, into: 3 } as const
const natField = { type: 1, family: 2, address: 3, port: 5 } as const
const payloadField = { into: 1, base: 2, offset: 3, length: 4 } as const
const byteorderField = { from: 1, into: 2, operation: 3, bytes: 4, size: 5 } as const
const metaField = { into: 1, key: 2 } as const
const numbersInTurn = 0
const randomNumbers = 1
const jenkinsHash = 0
const destinationNat = 1
const networkHeader = 1
const transportHeader = 2
const protocolKey = 16
const toNetworkOrder = 1

/** Where clients are loaded to be hashed, behind the key of the map. */
const clientOffset = 32

function writeIndex(writer: BatchWriter, { by, choices }: DnatByMap, into: number, family: Family): void {
  if (by === 'chance' || by === 'turn') {
    expression(writer, 'numgen', [
      [numgenField.into, into],
      [numgenField.modulus, choices],
      [numgenField.type, by === 'turn' ? numbersInTurn : randomNumbers],
      [numgenField.offset, 0],
    ])
    return
  }
  const [offset, addressBytes] = family === 'ipv4' ? [12, 4] : [8, 16]
  writePayload(writer, register(clientOffset), networkHeader, offset, addressBytes)
  if (by === 'flow') writePayload(writer, register(clientOffset + addressBytes), transportHeader, 0, 2)
  expression(writer, 'hash', [
    [hashField.from, register(clientOffset)],
    [hashField.into, into],
    // A port fills a register.
    [hashField.bytes, by === 'flow' ? addressBytes + 4 : addressBytes],
    [hashField.modulus, choices],
    [hashField.seed, hashSeed],
    [hashField.type, jenkinsHash],
  ])
}

function writeTurnAround(writer: BatchWriter, at: number): void {
  expression(writer, 'byteorder', [
    [byteorderField.from, at],
    [byteorderField.into, at],
    [byteorderField.operation, toNetworkOrder],
    [byteorderField.bytes, 4],
    [byteorderField.size, 4],
  ])
}

function writeLoad(writer: BatchWriter, field: DestinationField, into: number, family: Family): void {
  if (field === 'protocol') {
    expression(writer, 'meta', [
      [metaField.key, protocolKey],
      [metaField.into, into],
    ])
    return
  }
  if (field === 'port') writePayload(writer, into, transportHeader, 2, 2)
  else if (family === 'ipv4') writePayload(writer, into, networkHeader, 16, 4)
  else writePayload(writer, into, networkHeader, 24, 16)
}

function writePayload(writer: BatchWriter, into: number, base: number, offset: number, length: number): void {
  expression(writer, 'payload', [
    [payloadField.into, into],
    [payloadField.base, base],
    [payloadField.offset, offset],
    [payloadField.length, length],
  ])
}

/** Where a part of a key is: the registers are 64 bytes with names for steps of 16 and for steps of 4. */
function register(offset: number): number {
  return offset % 16 === 0 ? 1 + offset / 16 : 8 + offset / 4
}

function expression(writer: BatchWriter, name: string, numbers: readonly (readonly [field: number, value: number])[]) {
  const open = beginExpression(writer, name)
  for (const [field, value] of numbers) writer.number(field, value)
  endExpression(writer, open)
}

interface OpenExpression {
  readonly item: number
  readonly data: number
}

function beginExpression(writer: BatchWriter, name: string): OpenExpression {
  const item = writer.beginNested(listItem)
  writer.text(expressionField.name, name)
  return { item, data: writer.beginNested(expressionField.data) }
}

function endExpression(writer: BatchWriter, { item, data }: OpenExpression): void {
  writer.endNested(data)
  writer.endNested(item)
}
