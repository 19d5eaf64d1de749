/**
 * Whether programs at a cgroup change what this process connects to: the one proof that they are at the right place. They
 * are tried with tables of their own, before anything is pinned, and are gone again afterwards.
 */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import {
  configFlags,
  digestSize,
  encodeConfig,
  encodeEndpoint,
  encodeFrontendKey,
  encodeFrontendTarget,
  encodeService,
  layout,
  layoutVersion,
  listBits,
  mapSpecs,
  slotWord,
} from '../../../backends/ebpf/layout.ts'
import type { MapName } from '../../../backends/ebpf/layout.ts'
import type { Bpf, BpfMap } from '../../../dataplane/ebpf/bpf.ts'
import type { ProgramImage } from '../../../dataplane/ebpf/program-image.ts'

interface SelfTestSubjects {
  readonly bpf: Bpf
  /** Of cgroup v2. */
  readonly cgroup: string
  readonly programs: readonly ProgramImage[]
}

/** Without programs the connection never leaves the machine, and is refused: hardly anybody listens there. */
const asked = { ip: '127.70.76.1', port: 9, protocol: 'TCP' } as const
const enough = 4

export async function seesOwnConnections({ bpf, cgroup, programs }: SelfTestSubjects): Promise<boolean> {
  const image = programs.find(({ attachType }) => attachType === 'connect4')
  if (image === undefined) return false
  const server = createServer()
  const opened: Disposable[] = []
  try {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const maps = new Map<MapName, BpfMap>()
    for (const [name, spec] of Object.entries(mapSpecs)) {
      const map = await bpf.createMap({ ...spec, maxEntries: Math.min(spec.maxEntries, enough) })
      opened.push(map)
      maps.set(name as MapName, map)
    }
    await fillTables(maps, (server.address() as AddressInfo).port)
    // Another Fairlead that starts at this moment must not take it for a program of a third one.
    const program = await bpf.loadProgram({ ...image, name: 'fairlead_trial' }, maps)
    opened.push(program)
    const link = await bpf.attach(program, cgroup)
    opened.push(link)
    const isSeen = await arrivesAt(server)
    await bpf.detach(link)
    return isSeen
  } finally {
    server.close()
    for (const part of opened.reverse()) part[Symbol.dispose]()
  }
}

/** One Service: the address leads to this process. */
async function fillTables(maps: ReadonlyMap<MapName, BpfMap>, port: number): Promise<void> {
  const [service, id, base, generation] = [1, 1, 2, 1]
  const map = (name: MapName): BpfMap => {
    const found = maps.get(name)
    if (found === undefined) throw new Error(`there is no map ${name}`)
    return found
  }
  const endpoint = { ip: '127.0.0.1', port, lists: listBits.internal, generation, service }
  await map('endpoints').fill(id * layout.endpoint.size, encodeEndpoint(endpoint))
  await map('slots').store(base * layout.slot.size, slotWord({ endpoint: id, generation }))
  const lists = { internal: { kind: 'endpoints', base, count: 1 }, external: { kind: 'pass' } } as const
  const record = { lists, turn: 0, affinitySeconds: 0, roundRobin: false }
  await map('services').fill(service * layout.service.size, encodeService(record))
  const key = encodeFrontendKey({ scope: 'address', ...asked })
  await map('frontends').update([[key, encodeFrontendTarget({ service, list: 'internal' }, key)]])
  const config = {
    hostNetns: 0n,
    leaseUntil: 2n ** 63n - 1n,
    udpIdle: 0n,
    flags: configFlags.tcp | configFlags.noPeerNames,
    layout: layoutVersion,
    owner: 0n,
    nextGeneration: generation + 1,
    digest: new Uint8Array(digestSize),
  }
  await map('config').fill(0, encodeConfig(config))
}

/** On loopback there is an answer at once, unless somebody drops packets there. */
async function arrivesAt(server: Server): Promise<boolean> {
  server.on('connection', (arrived) => arrived.end(greeting))
  const socket = connect({ host: asked.ip, port: asked.port })
  socket.setTimeout(patienceMs, () => socket.destroy())
  const [answer] = await Promise.race([once(socket, 'data'), once(socket, 'close')]).catch(() => [])
  socket.destroy()
  return String(answer) === greeting
}

const greeting = 'Fairlead'
const patienceMs = 1_000
