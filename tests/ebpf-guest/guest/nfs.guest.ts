/** A mount at a cluster IP: the kernel's own socket is connected to the endpoint. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { release } from 'node:os'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keepsAddressesOfKernelSockets } from '../../../src/dataplane/ebpf/kernel-release.ts'
import { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'
import { plans } from '../../packet/testing/address-plan.ts'
import { EbpfPlace, EbpfProcess } from '../../packet/testing/fairlead-ebpf.ts'
import { proxyFlags } from '../../packet/testing/proxy-flags.ts'
import { Rig } from '../../packet/testing/rig.ts'
import { givenService } from '../../packet/testing/service-fixture.ts'
import type { ServiceFixture } from '../../packet/testing/service-fixture.ts'
import { NfsServer, nfsPort } from './testing/nfs-server.ts'

const { hosts, nodeIP, secondNodeIP } = plans.ipv4
const files = givenService('files', 1, {
  ports: [{ name: 'nfs', protocol: 'TCP', port: nfsPort, target: nfsPort }],
  endpoints: ['here-1'],
})
const [exported, mounted] = ['/tmp/exported', '/tmp/mounted']
const follows = keepsAddressesOfKernelSockets(release())

let rig: Rig
let servers: Readonly<Record<'here-1' | 'here-2', NfsServer>>
beforeAll(async () => {
  for (const folder of [exported, mounted]) mkdirSync(folder)
  // Kernel sockets belong to the root. This one is that of the guest, which has nobody else.
  rig = await Rig.startWith(
    async (cluster) => {
      const place = new EbpfPlace()
      const flags = [...proxyFlags('ebpf', {}), '--ebpf-cgroup=/sys/fs/cgroup', `--ebpf-pins=${place.pins}`]
      return new EbpfProcess(cluster, flags, await TemporaryFolder.make(), place, [])
    },
    [files],
  )
  const serverIn = (pod: 'here-1' | 'here-2') =>
    new NfsServer(rig.cluster.host(pod), `/tmp/nfsd-${pod}`, exported, [nodeIP, secondNodeIP])
  servers = { 'here-1': serverIn('here-1'), 'here-2': serverIn('here-2') }
})
afterAll(() => rig?.[Symbol.asyncDispose]())

/** What a new file has in it, as a process sees it that may wait for the server. */
async function read(name: string): Promise<string> {
  writeFileSync(`${exported}/${name}`, `content of ${name}`)
  const reading = rig.cluster.node.start('cat', [`${mounted}/${name}`], process.env)
  const [content, complaints] = await Promise.all([text(reading.stdout), text(reading.stderr), once(reading, 'close')])
  return content + complaints
}

/** The other ends of the node's connections to NFS servers. */
function peers(): readonly string[] {
  const lines = rig.cluster.node.run('ss', ['-Htn', 'state', 'established', 'dport', '=', `:${nfsPort}`])
  return lines
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).at(-1) ?? '')
}

async function moveTo(pod: 'here-1' | 'here-2'): Promise<void> {
  const moved: ServiceFixture = { ...files, endpoints: [pod] }
  servers[pod].start()
  await rig.program([moved])
}

test('it is made, and the connection is one to the endpoint', async () => {
  servers['here-1'].start()
  const ip = plans.ipv4.clusterIP(files.index)
  rig.cluster.node.run('mount', ['-i', '-t', 'nfs4', '-o', `vers=4.2,addr=${ip}`, `${ip}:/`, mounted])
  expect(await read('first')).toBe('content of first')
  expect(peers()).toEqual([`${hosts['here-1']}:${nfsPort}`])
})

// Where it cannot, the client asks for the old endpoint for ever.
test.skipIf(!follows)('when the endpoint moves, it goes on there', async () => {
  await moveTo('here-2')
  servers['here-1'].stop()
  expect(await read('second')).toBe('content of second')
  expect(peers()).toEqual([`${hosts['here-2']}:${nfsPort}`])
})
