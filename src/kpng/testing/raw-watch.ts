/** A client that does exactly what a test says: it sends requests when told, and shows each operation. */
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import type { StatusObject } from '@grpc/grpc-js'
import { channelTarget } from '../client/api-target.ts'
import { OpItem, WatchReq } from '../proto/generated/localv1/api.ts'
import { localWatchPath } from '../wire/grpc-names.ts'
import { opLine } from './readable-frames.ts'

export interface RawWatch extends Disposable {
  request(node: string): void
  /** The next operations, as lines; waits until there are this many. */
  take(count: number): Promise<string[]>
  /** Everything up to the next Sync. */
  untilSync(): Promise<string[]>
  /** Operations that have arrived and have not been taken. */
  readonly pending: readonly string[]
  status(): Promise<StatusObject>
  halfClose(): void
  cancel(): void
  pause(): void
  resume(): void
}

export interface RawWatchOptions {
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly credentials?: ReturnType<typeof credentials.createInsecure>
}

export function rawWatch(address: string, options: RawWatchOptions = {}): RawWatch {
  const client = new Client(channelTarget(address), options.credentials ?? credentials.createInsecure())
  const metadata = new Metadata()
  for (const [name, value] of Object.entries(options.headers ?? {})) metadata.set(name, value)
  const call = client.makeBidiStreamRequest(
    options.path ?? localWatchPath,
    (bytes: Uint8Array) => Buffer.from(bytes),
    (bytes: Buffer) => OpItem.decode(bytes),
    metadata,
  )
  const pending: string[] = []
  let wake = () => {}
  const status = new Promise<StatusObject>((resolve) => call.on('status', resolve))
  call.on('error', () => {})
  call.on('data', (item: OpItem) => {
    pending.push(opLine(item))
    wake()
  })
  const taken = async (enough: () => number): Promise<string[]> => {
    while (enough() === 0) await new Promise<void>((resolve) => (wake = resolve))
    return pending.splice(0, enough())
  }
  return {
    pending,
    request: (node) => call.write(WatchReq.encode({ NodeName: node }).finish()),
    take: (count) => taken(() => (pending.length >= count ? count : 0)),
    untilSync: () => taken(() => pending.indexOf('sync') + 1),
    status: () => status,
    halfClose: () => call.end(),
    cancel: () => call.cancel(),
    pause: () => call.pause(),
    resume: () => call.resume(),
    [Symbol.dispose]() {
      call.cancel()
      client.close()
    },
  }
}
