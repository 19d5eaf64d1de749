import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { addressPlans, viewOf } from '../../core/testing/random-cluster.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import { BpfError } from '../../dataplane/ebpf/bpf-error.ts'
import { MemoryBpf } from '../../dataplane/ebpf/memory-bpf.ts'
import { DoorCalls } from '../testing/door-calls.ts'
import { ipv4Backend } from './testing/ipv4-backend.ts'
import { MemoryNode } from './testing/memory-node.ts'
import { noPackets } from './testing/no-packets.ts'

test('packets are programmed while sockets cannot be, and the sync has failed all the same', async () => {
  const [node, clock, log, calls] = [new MemoryNode(), new FakeClock(), new RecordingLogger(), new DoorCalls()]
  calls.before = () => {
    throw new BpfError('no-memory', 'cannot make a map: the memory of the cgroup is used up')
  }
  const door = () => calls.through('bpf', new MemoryBpf(node.kernel))
  let packetSyncs = 0
  const backend = ipv4Backend({
    balancer: node.newBalancer(clock, { families: ['ipv4'], door, log }),
    packets: { ...noPackets, sync: (...task) => (packetSyncs++, noPackets.sync(...task)) },
    clock,
    log,
  })
  const web = testRoute('shop/web', { endpoints: [testEndpoint('10.64.1.1', 8080)] })
  const view = viewOf(addressPlans.ipv4, new Map([[web.key, web]]), [])
  const sync = () => backend.sync(view, { full: true, keys: [web.key], causes: [] }, new AbortController().signal)

  await expect(sync()).rejects.toThrow('the memory of the cgroup is used up')
  expect(packetSyncs).toBe(1)

  calls.before = () => {}
  await sync()
  expect(packetSyncs).toBe(2)
})
