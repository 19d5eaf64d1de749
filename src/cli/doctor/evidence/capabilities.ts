import type { Host } from '../../host/host.ts'
import { CannotLook } from '../evidence.ts'

export async function readCapabilities(host: Pick<Host, 'readTextFile'>): Promise<bigint> {
  const status = await host.readTextFile('/proc/self/status').catch((error: unknown) => {
    throw new CannotLook(`/proc/self/status: ${(error as Error).message}`, 'Mount /proc.', { cause: error })
  })
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1]
  if (effective === undefined) throw new CannotLook('/proc/self/status has no line CapEff', 'Mount /proc.')
  return BigInt(`0x${effective}`)
}
