/** Profiles in pprof's format (profile.proto, gzipped), which `go tool pprof` and most viewers read. */
import { gzipSync } from 'node:zlib'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'

export interface Frame {
  readonly functionName: string
  readonly file: string
  /** Counted from 1. */
  readonly line: number
}

export interface PprofProfile {
  /** What is measured, such as `inuse_space` in `bytes`. */
  readonly type: string
  readonly unit: string
  /** One sample stands for about this many units. */
  readonly period: number
  readonly takenAtMs: number
  /** The frame that the value belongs to comes first, then its callers. */
  readonly samples: readonly { readonly stack: readonly Frame[]; readonly value: number }[]
}

export function encodePprof({ type, unit, period, takenAtMs, samples }: PprofProfile): Uint8Array {
  const tables = new Tables()
  const writer = new BinaryWriter()
  const valueType = { 1: tables.text(type), 2: tables.text(unit) }
  message(writer, 1, valueType)
  for (const { stack, value } of samples) {
    const ids = stack.map((frame) => tables.location(frame))
    writer.tag(2, WireType.LengthDelimited).fork()
    packed(writer, 1, ids)
    packed(writer, 2, [value])
    writer.join()
  }
  tables.write(writer)
  numbers(writer, { 9: takenAtMs * 1e6 })
  message(writer, 11, valueType)
  numbers(writer, { 12: period })
  return gzipSync(writer.finish())
}

/** Strings, functions and locations are listed once and then referred to by number. */
class Tables {
  readonly #textIds = new Map<string, number>([['', 0]])
  readonly #functions = new Map<string, Readonly<Record<number, number>>>()
  readonly #locations = new Map<string, { readonly id: number; readonly functionId: number; readonly line: number }>()

  text(value: string): number {
    const id = this.#textIds.get(value) ?? this.#textIds.size
    this.#textIds.set(value, id)
    return id
  }

  location(frame: Frame): number {
    const name = this.text(frame.functionName)
    const file = this.text(frame.file)
    const functionKey = `${name} ${file}`
    const known = this.#functions.get(functionKey)
    const functionId = known?.[1] ?? this.#functions.size + 1
    if (known === undefined) this.#functions.set(functionKey, { 1: functionId, 2: name, 3: name, 4: file })
    const key = `${functionId} ${frame.line}`
    const location = this.#locations.get(key) ?? { id: this.#locations.size + 1, functionId, line: frame.line }
    this.#locations.set(key, location)
    return location.id
  }

  write(writer: BinaryWriter): void {
    for (const { id, functionId, line } of this.#locations.values()) {
      writer.tag(4, WireType.LengthDelimited).fork()
      numbers(writer, { 1: id })
      message(writer, 4, { 1: functionId, 2: line })
      writer.join()
    }
    for (const fields of this.#functions.values()) message(writer, 5, fields)
    for (const text of this.#textIds.keys()) writer.tag(6, WireType.LengthDelimited).string(text)
  }
}

function message(writer: BinaryWriter, field: number, fields: Readonly<Record<number, number>>): void {
  writer.tag(field, WireType.LengthDelimited).fork()
  numbers(writer, fields)
  writer.join()
}

function numbers(writer: BinaryWriter, fields: Readonly<Record<number, number>>): void {
  for (const [field, value] of Object.entries(fields))
    writer.tag(Number(field), WireType.Varint).int64(BigInt(Math.round(value)))
}

function packed(writer: BinaryWriter, field: number, values: readonly number[]): void {
  writer.tag(field, WireType.LengthDelimited).fork()
  for (const value of values) writer.int64(BigInt(Math.round(value)))
  writer.join()
}
