/** Why an operation was not carried out, in the words that every implementation uses. */
import { IpvsError } from './ipvs.ts'
import type { IpvsOperation } from './ipvs.ts'
import { operationWords } from './operation-words.ts'

export type OperationRefusal = 'no such server' | 'no such real server' | 'exists' | 'no such scheduler'

export function refusal(operation: IpvsOperation, why: OperationRefusal, options?: ErrorOptions): IpvsError {
  const { reason, words } = describe(operation, why)
  return new IpvsError(reason, `cannot ${operationWords(operation)}: ${words}`, options)
}

function describe(
  operation: IpvsOperation,
  why: OperationRefusal,
): { readonly reason: IpvsError['reason']; readonly words: string } {
  switch (why) {
    case 'no such server':
      return { reason: 'not-found', words: 'there is no such virtual server' }
    case 'no such real server':
      return { reason: 'not-found', words: 'it has no such real server' }
    case 'exists':
      return { reason: 'exists', words: 'it already exists' }
    case 'no such scheduler': {
      const scheduler = 'scheduler' in operation.server ? operation.server.scheduler : ''
      const words = `the kernel has no scheduler "${scheduler}"; load the module with "modprobe ip_vs_${scheduler}"`
      return { reason: 'module-missing', words }
    }
    default:
      return why satisfies never
  }
}
