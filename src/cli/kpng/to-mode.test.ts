import { expect, test } from 'vitest'
import { memoryHost, memoryProgram } from '../host/testing/memory-host.ts'
import { kpngCommand } from './kpng-command.ts'

const file = (mode: string) => `
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: ${mode}
`

test.each([
  ['linux', 'to-nftables', 'iptables', 'nftables'],
  ['linux', 'to-iptables', '""', 'iptables'],
  ['win32', 'to-winkernel', 'userspace', 'kernelspace'],
  ['win32', 'to-winuserspace', 'kernelspace', 'userspace'],
] as const)(
  'on %s, %s wins over mode %s of the configuration file, without a word',
  async (platform, sink, mode, wanted) => {
    const program = memoryProgram(memoryHost({ platform, files: { 'config.yaml': file(mode) } }))
    const argv = [sink, '--config=config.yaml', '--write-config-to=out.yaml', '--node-address=192.0.2.7']
    expect(await kpngCommand('api')(argv, program, AbortSignal.timeout(10_000))).toBe(0)
    expect(program.host.textByPath.get('out.yaml')).toMatch(new RegExp(`^mode: ${wanted}$`, 'm'))
    expect(program.printed()).toBe('')
  },
)

test('without a file, the mode of the sink is the configuration', async () => {
  const program = memoryProgram(memoryHost({ platform: 'win32' }))
  const argv = ['to-winuserspace', '--write-config-to=out.yaml']
  expect(await kpngCommand('api')(argv, program, AbortSignal.timeout(10_000))).toBe(0)
  expect(program.host.textByPath.get('out.yaml')).toMatch(/^mode: userspace$/m)
})
