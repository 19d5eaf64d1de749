/** Errors about a single operation. They have the same words in every implementation. */
import { hostPort } from '../../net/ip.ts'
import { controlCharacterIn } from '../control-characters.ts'
import { IpvsError, serverKey } from './ipvs.ts'
import type { IpvsOperation } from './ipvs.ts'

export type OperationRefusal = 'no such server' | 'no such real server' | 'exists' | 'no such scheduler'

export function refusal(operation: IpvsOperation, why: OperationRefusal, options?: ErrorOptions): IpvsError {
  const { reason, words } = explain(operation, why)
  return new IpvsError(reason, `cannot ${describeOperation(operation)}: ${words}`, options)
}

function explain(
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

/** Over netlink, addresses are bytes and need no check. */
export function controlCharacterRefusal(operation: IpvsOperation, areAddressesText: boolean): IpvsError | undefined {
  const { server } = operation
  const problem =
    ('scheduler' in server && typeof server.scheduler === 'string'
      ? controlCharacterIn(server.scheduler)
      : undefined) ?? (areAddressesText ? addressProblem(operation) : undefined)
  return problem === undefined
    ? undefined
    : new IpvsError('refused', `cannot ${printableDescription(operation)}: ${problem}`)
}

function addressProblem(operation: IpvsOperation): string | undefined {
  return (
    controlCharacterIn(operation.server.ip) ??
    ('realServer' in operation ? controlCharacterIn(operation.realServer.ip) : undefined)
  )
}

/** The description contains the addresses, and must not print a control character. */
function printableDescription(operation: IpvsOperation): string {
  const words = describeOperation(operation)
  return controlCharacterIn(words) === undefined ? words : `carry out "${operation.kind}"`
}

/** For messages: "cannot add the real server 10.64.0.1:8080 to 10.96.0.10:80/TCP: …". */
export function describeOperation(operation: IpvsOperation): string {
  const server = serverKey(operation.server)
  switch (operation.kind) {
    case 'add-server':
      return `add the virtual server ${server}`
    case 'edit-server':
      return `change the virtual server ${server}`
    case 'delete-server':
      return `delete the virtual server ${server}`
    case 'add-real-server':
      return `add the real server ${realServer(operation)} to ${server}`
    case 'edit-real-server':
      return `change the real server ${realServer(operation)} of ${server}`
    case 'delete-real-server':
      return `delete the real server ${realServer(operation)} of ${server}`
    default:
      return operation satisfies never
  }
}

function realServer({ realServer: { ip, port } }: Extract<IpvsOperation, { readonly realServer: unknown }>): string {
  return hostPort(ip, port)
}
