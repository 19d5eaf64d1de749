import type { Route } from '../../core/route.ts'

/** Of chains and sets that belong to one Service port. With what comes before and behind it, it fits into the kernel's 255 characters. */
export function routeId({ namespace, name, portName, protocol }: Route): string {
  return `${namespace}/${name}/${protocol.toLowerCase()}/${portName}`
}
