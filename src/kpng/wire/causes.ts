/**
 * Why a change set is sent: the spans of the core that caused it, so that core and backend are one trace. They are in the
 * Sync operation, in a field that KPNG does not have. A decoder skips a field that it does not know; and only a client
 * that asks for them is sent them at all, so every other one gets the bytes that it always got.
 */
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { SpanContext } from '../../core/trace.ts'
import { frameHeaderLength, syncFrame } from './op-frames.ts'

export interface Cause {
  /** `namespace/name` of the Service that is different. */
  readonly service: string
  readonly context: SpanContext
}

/** The header by which a client asks for them. */
export const causesHeader = 'fairlead-causes'

/** In OpItem. */
const syncField = 1
/** In the message of Sync, which is empty otherwise. */
const causeField = 1000
/** In a cause. */
const serviceField = 1
const traceParentField = 2

export function syncFrameWith(causes: readonly Cause[]): Buffer {
  if (causes.length === 0) return syncFrame
  const writer = new BinaryWriter()
  writer.tag(syncField, WireType.LengthDelimited).fork()
  for (const { service, context } of causes) {
    writer.tag(causeField, WireType.LengthDelimited).fork()
    writer.tag(serviceField, WireType.LengthDelimited).string(service)
    writer.tag(traceParentField, WireType.LengthDelimited).string(traceParent(context))
    writer.join()
  }
  const message = writer.join().finish()
  const frame = Buffer.allocUnsafe(frameHeaderLength + message.length)
  frame.writeUInt8(0, 0) // not compressed
  frame.writeUInt32BE(message.length, 1)
  frame.set(message, frameHeaderLength)
  return frame
}

/** Of an OpItem; whatever is not understood is left out. */
export function readCauses(message: Uint8Array): readonly Cause[] {
  const causes: Cause[] = []
  eachField(message, syncField, (sync) =>
    eachField(sync, causeField, (bytes) => {
      let service = ''
      let context: SpanContext | undefined
      eachField(bytes, serviceField, (value) => (service = text(value)))
      eachField(bytes, traceParentField, (value) => (context = parseTraceParent(text(value))))
      if (service !== '' && context !== undefined) causes.push({ service, context })
    }),
  )
  return causes
}

function eachField(message: Uint8Array, wanted: number, take: (value: Uint8Array) => void): void {
  const reader = new BinaryReader(message)
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag()
    if (field === wanted && type === WireType.LengthDelimited) take(reader.bytes())
    else reader.skip(type, field)
  }
}

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8')

/** https://www.w3.org/TR/trace-context/, always sampled: a trace that is not sent to a collector is not passed on. */
function traceParent({ traceId, spanId }: SpanContext): string {
  return `00-${traceId}-${spanId}-01`
}

function parseTraceParent(value: string): SpanContext | undefined {
  const found = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}/.exec(value)
  const [, traceId = '', spanId = ''] = found ?? []
  return found === null || /^0+$/.test(traceId) || /^0+$/.test(spanId) ? undefined : { traceId, spanId }
}
