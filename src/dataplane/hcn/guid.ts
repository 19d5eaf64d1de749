import { HcnError } from './hcn.ts'
import { isGuid } from './reply-reader.ts'

/** "You choose", where an object is created. */
export const noGuid: Buffer = Buffer.alloc(16)

/** As Windows has it in memory: the first three groups are numbers, whose bytes are the other way round. */
export function guidBytes(id: string, of: string): Buffer {
  if (!isGuid(id)) throw new HcnError('refused', `invalid ${of} ID: ${JSON.stringify(id)} is not a GUID`)
  const bytes = Buffer.from(id.replaceAll('-', ''), 'hex')
  bytes.subarray(0, 4).reverse()
  bytes.subarray(4, 6).reverse()
  bytes.subarray(6, 8).reverse()
  return bytes
}
