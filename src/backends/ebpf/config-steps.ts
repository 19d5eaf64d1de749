/** What the programs are told besides the tables. */
import { decodeConfig, encodeConfig, layout, layoutVersion } from './layout.ts'
import { flagsOf } from './settings.ts'
import type { SocketSettings } from './settings.ts'
import type { Step, StoreStep } from './steps.ts'

export interface WantedConfig {
  readonly settings: SocketSettings
  readonly digest: Uint8Array
  readonly owner: bigint
}

/** Only what differs; the lease and the generations go on as they are. */
export function configSteps(found: Uint8Array, { settings, digest, owner }: WantedConfig): readonly Step[] {
  const before = Buffer.from(found)
  const wanted = encodeConfig({
    ...decodeConfig(before),
    hostNetns: settings.hostNetns,
    udpIdle: BigInt(settings.udpIdleMs) * nanosecondsPerMs,
    flags: flagsOf(settings),
    layout: layoutVersion,
    owner,
    digest,
  })
  const { hostNetns, udpIdle, flags, owner: ownerAt, digest: digestAt, size } = layout.config
  const words = [hostNetns, udpIdle, flags, ownerAt]
    .filter((offset) => before.readBigUInt64LE(offset) !== wanted.readBigUInt64LE(offset))
    .map((offset): Step => ({ do: 'store', map: 'config', offset, word: wanted.readBigUInt64LE(offset) }))
  if (before.subarray(digestAt, size).equals(wanted.subarray(digestAt))) return words
  return [...words, { do: 'fill', map: 'config', offset: digestAt, bytes: wanted.subarray(digestAt) }]
}

/** Where a process that comes next goes on: this one has told of many at once, and may have used them. */
export function generationStep(next: number): Step {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(next)
  return { do: 'fill', map: 'config', offset: layout.config.nextGeneration, bytes }
}

/** Without a lease that ends, the programs go on for ever. */
export function leaseStep(leaseMs: number, kernelNow: bigint): StoreStep {
  const word = leaseMs === 0 ? endOfTime : kernelNow + BigInt(leaseMs) * nanosecondsPerMs
  return { do: 'store', map: 'config', offset: layout.config.leaseUntil, word }
}

const nanosecondsPerMs = 1_000_000n
const endOfTime = 2n ** 63n - 1n
