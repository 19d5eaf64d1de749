/**
 * A backend in TypeScript: keeps the configuration of nginx (module "stream") equal to the TCP Services of this node.
 *
 *   npx tsx backend.ts unix:///run/fairlead.sock /etc/nginx/services.conf
 */
import { rename, writeFile } from 'node:fs/promises'
import { defineBackend, runBackend } from 'fairlead'
import type { NodeService } from 'fairlead'

const [api = 'unix:///run/fairlead.sock', file = 'nginx.conf'] = process.argv.slice(2)

const nginx = defineBackend({
  name: 'nginx',
  async sync({ services, changes, isFull }) {
    const blocks = [...services.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).flatMap(blocksOf)
    // Replaced in one step, so that nginx never reads half a file.
    await writeFile(`${file}.new`, blocks.join('\n'))
    await rename(`${file}.new`, file)
    const { setServices, setEndpoints, removedEndpoints, removedServices } = changes
    const set = setServices.length + setEndpoints.length
    const removed = removedEndpoints.length + removedServices.length
    console.log(`${isFull ? 'everything' : 'a change'}: ${set} set, ${removed} removed`)
    // Add here: nginx -s reload
  },
})

/** One `upstream` and one `server` for each TCP port that has endpoints. */
function blocksOf(service: NodeService): string[] {
  return service.ports.flatMap((port, index) => {
    const servers = service.endpoints
      .filter(({ servesInternal, ports }) => servesInternal && ports[index] !== 0)
      .flatMap(({ ips, ports }) => ips.map((ip) => `  server ${hostPort(ip, ports[index] ?? 0)};`))
    if (port.protocol !== 'TCP' || servers.length === 0) return []
    const name = `${service.namespace}_${service.name}_${port.port}`
    const sticky = service.affinitySeconds > 0 ? ['  hash $remote_addr consistent;'] : []
    const listens = service.clusterIPs.map((ip) => `  listen ${hostPort(ip, port.port)};`)
    return [
      [`upstream ${name} {`, ...sticky, ...servers.sort(), '}'].join('\n'),
      ['server {', ...listens, `  proxy_pass ${name};`, '}', ''].join('\n'),
    ]
  })
}

function hostPort(ip: string, port: number): string {
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`
}

const stop = new AbortController()
process.on('SIGTERM', () => stop.abort())
process.on('SIGINT', () => stop.abort())
await runBackend(nginx, { api, signal: stop.signal })
