/** Plans are printed on every system, whichever has the mode. */
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { fileOf } from '../config/testing/command-line.ts'
import { memoryHost, memoryProgram } from './host/testing/memory-host.ts'
import { renderCommand } from './render-command.ts'

const manifests = fileURLToPath(new URL('../../examples/manifests/cluster', import.meta.url))

async function render(platform: NodeJS.Platform, flags: readonly string[], config = '') {
  const program = memoryProgram(memoryHost({ platform, files: { '/kube-proxy.conf': fileOf(config) } }))
  const code = await renderCommand([`--objects=${manifests}`, '--node-name=node1', ...flags], program)
  expect(code).toBe(0)
  return program.printed()
}

test.each(['linux', 'win32', 'darwin'] as const)('kernelspace on %s', async (platform) => {
  const text = await render(platform, ['--proxy-mode=kernelspace', '--family=ipv4', '--part=load-balancers'])
  expect(text).toContain(
    '{"HostComputeEndpoints":["<endpoint 10.64.1.6>"],"FrontendVIPs":["10.96.0.30"],' +
      '"PortMappings":[{"Protocol":6,"InternalPort":8443,"ExternalPort":443}],"SchemaVersion":{"Major":2,"Minor":0}}\n',
  )
})

test('the settings of the file count, also the mode that only another system has', async () => {
  const settings = 'mode: kernelspace\nwinkernel: {networkName: vxlan0, sourceVip: 10.61.1.2, enableDSR: true}'
  const text = await render('linux', ['--config=/kube-proxy.conf'], settings)
  expect(text).toContain('"HostComputeNetwork":"<network vxlan0>","IpConfigurations":[{"IpAddress":"10.61.1.2"}]')
  expect(text).toContain('"SourceVIP":"10.61.1.2","FrontendVIPs":["10.96.0.30"]')
  expect(text).toContain('"ExternalPort":443}],"SchemaVersion":{"Major":2,"Minor":0},"Flags":1}')
  // An overlay network has one family.
  expect(text.match(/^# .*/gm)).toEqual(['# ipv4, part endpoints', '# ipv4, part load-balancers'])
})

test('an overlay network needs its source VIP', async () => {
  const overlay = ['--proxy-mode=kernelspace', '--hns-network-type=Overlay']
  await expect(render('linux', overlay)).rejects.toThrow('an overlay network needs a source VIP')
})

test('iptables on Windows', async () => {
  expect(await render('win32', ['--proxy-mode=iptables', '--family=ipv4'])).toContain('*nat\n')
})

test('a mode that no system has is refused', async () => {
  await expect(render('linux', ['--proxy-mode=magic'])).rejects.toThrow('Invalid value: "magic"')
})
