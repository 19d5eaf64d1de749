/**
 * Fairlead's native relay on a node, in front of the endpoint that its arguments name, with two listeners: the endpoint
 * sees this machine, or the client. Prints their ports, and ends with its input.
 */
import { systemClock } from '../../../src/core/clock.ts'
import { silentLogger } from '../../../src/core/logger.ts'
import { openRelay } from '../../../src/dataplane/relay/open-relay.ts'

const [, , nodeIp = '', endpointIp = '', endpointPort] = process.argv
const relay = await openRelay({
  log: silentLogger,
  clock: systemClock,
  workers: 0,
  engine: 'native',
  drainTimeoutMs: undefined,
  mayBeTransparent: true,
})
const endpoints = [{ ip: endpointIp, port: Number(endpointPort), isHere: true }]
const pool = { service: 'bench/endpoint', endpoints, affinitySeconds: 0, whenEmpty: 'refuse' } as const
const listen = async (id: string, keepsClients: boolean) => {
  const opened = await relay.set({
    id,
    protocol: 'TCP',
    address: { ip: nodeIp, port: 0 },
    allowedSources: [],
    ...(keepsClients && { keeps: { of: 'everybody', pods: { kind: 'none' } } }),
    pool: { id, ...pool },
  })
  if (!opened.ok) throw new Error(opened.message)
  return opened.address.port
}
process.stdout.write(`${JSON.stringify({ node: await listen('node', false), client: await listen('client', true) })}\n`)
process.stdin.resume().on('end', () => process.exit())
