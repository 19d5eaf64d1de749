/** Where the API server is, as addresses: what Fairlead itself depends on, no Service may take. */
import { isIP } from 'node:net'
import type { ApiServerAddress } from '../../core/routing/address-claims.ts'
import type { Logger } from '../../core/logger.ts'
import { parseIp } from '../../net/ip.ts'
import type { Host } from '../host/host.ts'

/** A name is looked up once, at the start: one that cannot be resolved is protected by nothing, and that is said. */
export async function apiServerAddresses(
  server: URL,
  host: Pick<Host, 'lookup'>,
  log: Logger,
): Promise<readonly ApiServerAddress[]> {
  const name = server.hostname.replace(/^\[|\]$/g, '')
  const port = Number(server.port) || (server.protocol === 'http:' ? 80 : 443)
  const found = isIP(name) === 0 ? await resolve(name, host, log) : [name]
  return found.flatMap((address) => {
    const ip = parseIp(address)
    return ip === undefined ? [] : [{ ip, port }]
  })
}

async function resolve(name: string, host: Pick<Host, 'lookup'>, log: Logger): Promise<readonly string[]> {
  try {
    return await host.lookup(name)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    log.warn('the address of the API server is unknown, so Services can claim it', { host: name, reason })
    return []
  }
}
