import { expect, test } from 'vitest'
import { MemoryBpf } from '../../../dataplane/ebpf/memory-bpf.ts'
import { MemoryKernel } from '../../../dataplane/ebpf/memory-kernel.ts'
import { passingProgram } from '../../../dataplane/ebpf/testing/images.ts'
import { neighbourObstacles } from './neighbour-obstacles.ts'

const place = { cgroup: '/cgroup', pins: '/bpffs/fairlead', besideOthers: false }

function kernelWith(name: string, sharing: 'shared' | 'exclusive' = 'shared'): MemoryKernel {
  const kernel = new MemoryKernel({ bpffs: '/bpffs', cgroups: ['/cgroup'] })
  kernel.attachForeign('/cgroup', 'connect4', { id: 101, name, sharing })
  return kernel
}

test('another balancer is in the way, unless the operator says otherwise', async () => {
  const bpf = new MemoryBpf(kernelWith('cil_sock4_conne'))
  expect(await neighbourObstacles(bpf, place)).toEqual([
    '"cil_sock4_conne" of Cilium at connect4 of /cgroup balances at the same sockets: switch that off there, or add --ebpf-beside-others',
  ])
  expect(await neighbourObstacles(bpf, { ...place, besideOthers: true })).toEqual([])
})

test('a program that must be alone is in the way, whatever the operator says', async () => {
  const bpf = new MemoryBpf(kernelWith('guard', 'exclusive'))
  expect(await neighbourObstacles(bpf, { ...place, besideOthers: true })).toEqual([
    expect.stringContaining('"guard" at connect4 of /cgroup leaves no room for other programs'),
  ])
})

test('a program of somebody else that shares the hook is not in the way', async () => {
  expect(await neighbourObstacles(new MemoryBpf(kernelWith('guard')), place)).toEqual([])
})

test('programs of Fairlead are in the way unless they are pinned where this process pins', async () => {
  const bpf = new MemoryBpf(new MemoryKernel({ bpffs: '/bpffs', cgroups: ['/cgroup'] }))
  const link = await bpf.attach(await bpf.loadProgram(passingProgram('fl_connect4', 'connect4'), new Map()), '/cgroup')
  expect(await neighbourObstacles(bpf, place)).toEqual([expect.stringContaining('belongs to another Fairlead')])
  await bpf.pin(link, '/bpffs/fairlead/2/links/connect4')
  expect(await neighbourObstacles(bpf, place)).toEqual([])
})

test('what others have pinned there is no link of ours', async () => {
  const bpf = new MemoryBpf(new MemoryKernel({ bpffs: '/bpffs', cgroups: ['/cgroup'] }))
  const link = await bpf.attach(await bpf.loadProgram(passingProgram('fl_connect4', 'connect4'), new Map()), '/cgroup')
  await bpf.pin(link, '/bpffs/fairlead/elsewhere/links/connect4')
  expect(await neighbourObstacles(bpf, place)).toEqual([expect.stringContaining('belongs to another Fairlead')])
})

test('all that are in the way are named', async () => {
  const kernel = kernelWith('cil_sock4_conne')
  kernel.attachForeign('/cgroup', 'sendmsg4', { id: 102, name: 'guard', sharing: 'exclusive' })
  kernel.attachForeign('/cgroup', 'sendmsg4', { id: 103, name: 'watcher', sharing: 'shared' })
  expect(await neighbourObstacles(new MemoryBpf(kernel), place)).toEqual([
    expect.stringContaining('"cil_sock4_conne" of Cilium at connect4'),
    expect.stringContaining('"guard" at sendmsg4'),
  ])
})
