import { expect, test } from 'vitest'
import { MemoryBpf } from '../../dataplane/ebpf/memory-bpf.ts'
import { MemoryKernel } from '../../dataplane/ebpf/memory-kernel.ts'
import { memoryHost, memoryProgram } from '../host/testing/memory-host.ts'
import { socketsCommand } from './sockets-command.ts'

async function sockets(...argv: readonly string[]): Promise<string> {
  const kernel = new MemoryKernel({ bpffs: '/sys/fs/bpf', cgroups: [] })
  const printed: string[] = []
  const program = memoryProgram(memoryHost({ openBpf: () => Promise.resolve(new MemoryBpf(kernel)) }))
  await socketsCommand(argv, { ...program, out: (text) => void printed.push(text) })
  return printed.join('')
}

test('where nothing is pinned, it says so', async () => {
  await expect(sockets()).rejects.toThrow('nothing is pinned in /sys/fs/bpf/fairlead')
  await expect(sockets('--ebpf-pins=/sys/fs/bpf/other')).rejects.toThrow('nothing is pinned in /sys/fs/bpf/other')
})

test('its help names its flags', async () => {
  expect(await sockets('--help')).toContain('--ebpf-pins')
})
