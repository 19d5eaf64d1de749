import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'

/**
 * Ports of 127.0.0.1 that are free now, by name. For programs that cannot be told to take port 0 themselves, and for
 * servers that come back at the same address. All are held until all are known, so no two are the same.
 */
export async function freePorts<Name extends string>(...names: readonly Name[]): Promise<Record<Name, number>> {
  const held = await Promise.all(
    names.map(async (name) => {
      const server = createServer().listen(0, '127.0.0.1')
      await once(server, 'listening')
      return { name, server, port: (server.address() as AddressInfo).port }
    }),
  )
  await Promise.all(held.map(({ server }) => once(server.close(), 'close')))
  return Object.fromEntries(held.map(({ name, port }) => [name, port])) as Record<Name, number>
}
