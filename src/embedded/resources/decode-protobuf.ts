/**
 * Reads an object that a client sent as protobuf: kubectl 1.32 and later does so for `kubectl create service` and
 * similar commands. The result is the JSON that the client could have sent instead, for decodeObject.
 */
import { fieldNumbersBySchema } from './protobuf-field-numbers.ts'
import type { WireValue } from './protobuf-wire.ts'
import { ProtobufError, readFields } from './protobuf-wire.ts'
import type { KindSchema, ObjectSchema, Schema } from './schema.ts'

export type DecodedProtobuf =
  | { readonly ok: true; readonly body: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly message: string }

/** Every body starts with these bytes; then comes an envelope with the type and the message. */
const magic = [0x6b, 0x38, 0x73, 0x00]

export function decodeProtobuf(bytes: Uint8Array, schema: KindSchema): DecodedProtobuf {
  if (!magic.every((byte, index) => bytes[index] === byte))
    return { ok: false, message: 'the body is no Kubernetes protobuf message: its first four bytes are wrong' }
  try {
    const envelope = new Map(readFields(bytes.subarray(magic.length)))
    const typeMeta = new Map(readFields(bytesOf(envelope.get(1))))
    const message = decodeMessage(bytesOf(envelope.get(2)), schema)
    return { ok: true, body: { apiVersion: textOf(typeMeta.get(1)), kind: textOf(typeMeta.get(2)), ...message } }
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    return { ok: false, message: `the protobuf body of the ${schema.kind.kind} cannot be read: ${error.message}` }
  }
}

function decodeMessage(message: Uint8Array, schema: ObjectSchema): Record<string, unknown> {
  const numbers = Object.entries(fieldNumbersBySchema[schema.name] ?? {})
  const nameByNumber = new Map(numbers.map(([name, number]) => [number, name]))
  const object: Record<string, unknown> = {}
  for (const [number, wire] of readFields(message)) {
    const name = nameByNumber.get(number)
    const field = name === undefined ? undefined : schema.fields[name]
    if (name === undefined || field === undefined) continue
    const value = decodeField(wire, field, object[name])
    // Go also writes empty values of plain fields, which its JSON leaves out.
    const isLeftOut = value === undefined || ((value === '' || value === 0) && !schema.required.includes(name))
    if (!isLeftOut) object[name] = value
  }
  return object
}

/** `before` is what this field held so far: lists and maps arrive one item at a time. */
function decodeField(wire: WireValue, schema: Schema, before: unknown): unknown {
  if (schema.type === 'list') return [...((before ?? []) as unknown[]), decodeValue(wire, schema.items)]
  if (schema.type !== 'map') return decodeValue(wire, schema)
  const entry = new Map(readFields(bytesOf(wire)))
  const value = entry.get(2)
  const decoded = value === undefined ? '' : decodeValue(value, schema.values)
  return Object.fromEntries([...Object.entries(before ?? {}), [textOf(entry.get(1)), decoded]])
}

function decodeValue(wire: WireValue, schema: Schema): unknown {
  switch (schema.type) {
    case 'object':
      return decodeMessage(bytesOf(wire), schema)
    case 'string':
      return textOf(wire)
    case 'integer':
      return numberOf(wire)
    case 'boolean':
      return numberOf(wire) !== 0
    case 'int-or-string': {
      const parts = new Map(readFields(bytesOf(wire)))
      return numberOf(parts.get(1)) === 0 ? numberOf(parts.get(2)) : textOf(parts.get(3))
    }
    case 'time':
    case 'micro-time':
      return decodeTime(bytesOf(wire), schema.type)
    case 'quantity':
      return textOf(new Map(readFields(bytesOf(wire))).get(1))
    case 'any':
      return parseJson(textOf(new Map(readFields(bytesOf(wire))).get(1)))
    case 'list':
    case 'map':
      throw new ProtobufError('a list or map inside a list or map')
    default:
      return schema satisfies never
  }
}

function decodeTime(message: Uint8Array, type: 'time' | 'micro-time'): string | undefined {
  const parts = new Map(readFields(message))
  const seconds = numberOf(parts.get(1))
  const nanos = numberOf(parts.get(2))
  if (seconds === 0 && nanos === 0) return undefined
  const date = new Date(seconds * 1000)
  if (Number.isNaN(date.getTime())) throw new ProtobufError(`${seconds} seconds is no time`)
  const fraction = type === 'time' ? '' : `.${String(Math.floor(nanos / 1000)).padStart(6, '0')}`
  return date.toISOString().replace(/\.\d+Z$/, `${fraction}Z`)
}

function bytesOf(wire: WireValue | undefined): Uint8Array {
  if (wire?.type === 'varint') throw new ProtobufError('a number where a message should be')
  return wire?.value ?? new Uint8Array()
}

function textOf(wire: WireValue | undefined): string {
  return new TextDecoder().decode(bytesOf(wire))
}

function numberOf(wire: WireValue | undefined): number {
  if (wire?.type === 'bytes') throw new ProtobufError('a text where a number should be')
  return Number(BigInt.asIntN(64, wire?.value ?? 0n))
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text === '' ? '{}' : text)
  } catch (cause) {
    throw new ProtobufError('fieldsV1 holds no JSON', { cause })
  }
}
