import { expect, test } from 'vitest'
import { MemoryBpf } from './memory-bpf.ts'
import { MemoryKernel } from './memory-kernel.ts'
import { passingProgram } from './testing/images.ts'

test('what a process held ends with it, and what it pinned stays for the next one', async () => {
  const kernel = new MemoryKernel({ bpffs: '/bpffs', cgroups: ['/cgroup'] })
  const first = new MemoryBpf(kernel)
  const four = await first.loadProgram(passingProgram('fl_connect4', 'connect4'), new Map())
  const six = await first.loadProgram(passingProgram('fl_connect6', 'connect6'), new Map())
  await first.pin(await first.attach(four, '/cgroup'), '/bpffs/fairlead/connect4')
  await first.attach(six, '/cgroup')
  first[Symbol.dispose]()

  const second = new MemoryBpf(kernel)
  expect(await second.attached('/cgroup', 'connect4')).toMatchObject([{ id: four.id }])
  expect(await second.attached('/cgroup', 'connect6')).toEqual([])
  using link = await second.openLink('/bpffs/fairlead/connect4')
  expect(link?.attachType).toBe('connect4')
})

test('an iterator does what the test says', async () => {
  const kernel = new MemoryKernel({ bpffs: '/bpffs', cgroups: [] })
  const bpf = new MemoryBpf(kernel)
  const storage = { name: 'connected', type: 'socket-storage', keySize: 4, valueSize: 64, maxEntries: 0 } as const
  const reports = await bpf.createMap({ name: 'stale', type: 'array', keySize: 4, valueSize: 8, maxEntries: 1 })
  kernel.onIterate = ({ mapsByName }, { spec }) => mapsByName.get('stale')?.bytes.set([spec.valueSize])
  const walk = passingProgram('fl_stale', 'iterator', 'stale')
  await bpf.iterate(await bpf.loadProgram(walk, new Map([['stale', reports]])), await bpf.createMap(storage))
  expect(reports.bytes[0]).toBe(64)
})
