import { expect, test } from 'vitest'
import { unseenConnections, unseenPods } from './examine-ground.ts'

test('a cgroup that was found, and whose programs do not see this process, is the wrong one', () => {
  expect(() => unseenConnections({ cgroup: '' }, '/sys/fs/cgroup', false)).toThrow(
    "programs at /sys/fs/cgroup do not see what this process connects to, so it is not the cgroup of this node: mount the host's /sys/fs/cgroup into the container, or name the cgroup with --ebpf-cgroup",
  )
})

test('this process may be outside of a cgroup that was named', () => {
  expect(unseenConnections({ cgroup: '/pods' }, '/pods', false)).toEqual([
    'what Fairlead itself connects to is left to nftables: it is not in --ebpf-cgroup, or programs do not work there',
  ])
  expect(unseenConnections({ cgroup: '/pods' }, '/pods', true)).toEqual([])
})

test('a cgroup that was named without pods in it is told of', () => {
  const sentence = 'what pods connect to is left to nftables: the kubelet has no folder for pods in --ebpf-cgroup'
  expect(unseenPods({ cgroup: '/system.slice' }, false)).toEqual([sentence])
  expect(unseenPods({ cgroup: '/node' }, true)).toEqual([])
  expect(unseenPods({ cgroup: '' }, false)).toEqual([])
})
