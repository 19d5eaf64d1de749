import { controlCharacterIn } from '../control-characters.ts'
import { IpvsError } from './ipvs.ts'
import type { IpvsOperation } from './ipvs.ts'
import { operationWords } from './operation-words.ts'

/** Undefined when every text of the operation can be written. Over netlink, addresses are no text. */
export function controlCharacterRefusal(operation: IpvsOperation, areAddressesText: boolean): IpvsError | undefined {
  const { server } = operation
  const problem =
    ('scheduler' in server && typeof server.scheduler === 'string'
      ? controlCharacterIn(server.scheduler)
      : undefined) ?? (areAddressesText ? addressProblem(operation) : undefined)
  return problem === undefined ? undefined : new IpvsError('refused', `cannot ${wordsOf(operation)}: ${problem}`)
}

function addressProblem(operation: IpvsOperation): string | undefined {
  return (
    controlCharacterIn(operation.server.ip) ??
    ('realServer' in operation ? controlCharacterIn(operation.realServer.ip) : undefined)
  )
}

/** The words hold the addresses as they are. */
function wordsOf(operation: IpvsOperation): string {
  const words = operationWords(operation)
  return controlCharacterIn(words) === undefined ? words : `carry out "${operation.kind}"`
}
