/** The mode is switched on while programs run: their sockets are of a time without hooks. */
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { builtObject } from '../../src/backends/ebpf/testing/built-object.ts'
import { KernelSite } from '../../src/dataplane/ebpf/testing/kernel-site.ts'
import { describeUnless } from '../packet/testing/proxies.ts'
import { ClientSocket, parsePlace } from './testing/client-socket.ts'
import { Hooks } from './testing/hooks.ts'
import { JoinedCgroup } from './testing/joined-cgroup.ts'
import { Lab, serverPlaces } from './testing/lab.ts'
import { linksWork, socketTestProblem } from './testing/socket-lab.ts'

const ways = [
  { what: 'IPv4', family: 'ipv4', ip: '10.96.0.1', endpoint: serverPlaces.ipv4[0] },
  { what: 'IPv6', family: 'ipv6', ip: '[fd96::1]', endpoint: serverPlaces.ipv6[0] },
  { what: 'IPv4-mapped', family: 'ipv6', ip: '10.96.0.1', endpoint: serverPlaces.ipv4[0] },
] as const

describeUnless(await socketTestProblem(), 'sockets from before the programs', () => {
  test.each(ways)('of $what are served with their next connect or sendto', async ({ family, ip, endpoint }) => {
    const [tcp, udp, answeredBy] = [`${ip}:80`, `${ip}:53`, parsePlace(endpoint).ip]
    using site = await KernelSite.open()
    const cgroup = site.makeCgroup('before')
    using _joined = new JoinedCgroup(cgroup, dirname(cgroup))
    using nodes = new Lab()
    await linksWork(nodes)
    using connecting = ClientSocket.tcp(nodes.pod, family)
    using reconnecting = ClientSocket.udp(nodes.pod, family)
    using sending = ClientSocket.udp(nodes.pod, family)
    const asked = async (socket: ClientSocket, place?: string) => {
      expect(socket.send('hello', place)).toBe('ok')
      const { from, answer } = await socket.receive()
      return { from, answeredBy: answer.answeredBy }
    }
    expect(reconnecting.connect(udp)).toBe('ok')
    expect(await asked(reconnecting)).toEqual({ from: udp, answeredBy: 'packets' })
    expect(await asked(sending, udp)).toEqual({ from: udp, answeredBy: 'packets' })

    using hooks = await Hooks.attach(site.bpf, await builtObject(), cgroup, { hostNetns: reconnecting.netns })
    const served = await hooks.serve({ at: [`tcp ${tcp}`, `udp ${udp}`], internal: [endpoint] })
    expect(connecting.connect(tcp)).toBe('ok')
    expect(connecting.peer).toBe(tcp)
    expect(await connecting.read()).toMatchObject({ answeredBy })
    expect(await asked(sending, udp)).toEqual({ from: udp, answeredBy })
    // No hook sees what a connected socket sends: it stays where it is until it connects anew.
    expect(await asked(reconnecting)).toEqual({ from: udp, answeredBy: 'packets' })
    expect(reconnecting.connect(udp)).toBe('ok')
    expect(await asked(reconnecting)).toEqual({ from: udp, answeredBy })
    expect(reconnecting.peer).toBe(udp)
    expect(served.stats).toMatchObject({ connections: 3, passed: 0 })
  })
})
