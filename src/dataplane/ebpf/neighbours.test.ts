import { expect, test } from 'vitest'
import type { AttachedProgram } from './bpf.ts'
import { MemoryBpf } from './memory-bpf.ts'
import { MemoryKernel } from './memory-kernel.ts'
import { findNeighbours, neighbourText } from './neighbours.ts'
import { passingProgram } from './testing/images.ts'

const shared = (id: number, name: string | undefined): AttachedProgram => ({ id, name, sharing: 'shared' })

test('programs of others are told apart by what they mean for ours', async () => {
  const kernel = new MemoryKernel({ bpffs: '/bpffs', cgroups: ['/cgroup'] })
  kernel.attachForeign('/cgroup', 'connect4', shared(101, 'cil_sock4_conne'))
  kernel.attachForeign('/cgroup', 'connect4', shared(102, 'calico_connect_'))
  kernel.attachForeign('/cgroup', 'connect4', shared(103, 'sock4_connect'))
  kernel.attachForeign('/cgroup', 'sendmsg6', shared(104, 'fl_sendmsg6'))
  kernel.attachForeign('/cgroup', 'recvmsg4', shared(105, 'guard'))
  kernel.attachForeign('/cgroup', 'recvmsg4', shared(106, undefined))
  kernel.attachForeign('/cgroup', 'getpeername6', { id: 107, name: 'mine_alone', sharing: 'exclusive' })
  kernel.attachForeign('/cgroup', 'getpeername4', { id: 108, name: 'cil_sock4_getpe', sharing: 'overridable' })
  const found = await findNeighbours(new MemoryBpf(kernel), '/cgroup')
  expect(found.map((each) => `${each.kind}: ${neighbourText(each)}`)).toEqual([
    'balancer: "cil_sock4_conne" of Cilium at connect4',
    'balancer: "calico_connect_" of Calico at connect4',
    'balancer: "sock4_connect" of KPNG at connect4',
    'fairlead: "fl_sendmsg6" of Fairlead at sendmsg6',
    'other: "guard" at recvmsg4',
    'other: program 106 (its name needs CAP_SYS_ADMIN) at recvmsg4',
    'alone: "cil_sock4_getpe" of Cilium at getpeername4',
    'alone: "mine_alone" at getpeername6',
  ])
})

test('our own programs are no neighbours', async () => {
  const kernel = new MemoryKernel({ bpffs: '/bpffs', cgroups: ['/cgroup'] })
  const bpf = new MemoryBpf(kernel)
  const program = await bpf.loadProgram(passingProgram('fl_connect4', 'connect4'), new Map())
  await bpf.attach(program, '/cgroup')
  expect(await findNeighbours(bpf, '/cgroup', new Set([program.id]))).toEqual([])
  expect(await findNeighbours(bpf, '/cgroup')).toMatchObject([{ kind: 'fairlead' }])
})
