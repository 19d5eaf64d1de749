/** Operations in words, for messages: "cannot add the real server 10.64.0.1:8080 to 10.96.0.10:80/TCP: …". */
import { hostPort } from '../../net/ip.ts'
import { serverKey } from './ipvs.ts'
import type { IpvsOperation } from './ipvs.ts'

export function operationWords(operation: IpvsOperation): string {
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
