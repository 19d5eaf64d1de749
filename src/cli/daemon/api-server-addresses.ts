/** The addresses of the API server. No Service may claim them, because Fairlead itself depends on them. */
import { isIP } from 'node:net'
import type { ApiServerAddress } from '../../core/routing/address-claims.ts'
import type { Logger } from '../../core/logger.ts'
import { parseIp } from '../../net/ip.ts'
import type { Host } from '../host/host.ts'

/** A name is looked up once, at the start. One that cannot be resolved is not protected, so that is logged. */
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
