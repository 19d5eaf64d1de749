import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { Answer } from '../../src/core/explain/explanation.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { DaemonProcess } from './testing/daemon-process.ts'
import { eventually } from './testing/eventually.ts'
import { runFairlead } from './testing/fairlead-process.ts'
import { manifest, service, slice } from './testing/objects.ts'

const manifests = fileURLToPath(new URL('../../examples/manifests/cluster', import.meta.url))
const offline = [`--objects=${manifests}`, '--node-name=node1', '--proxy-mode=nftables']

test.concurrent('the example Services are explained without a proxy', async () => {
  const explained = await runFairlead(['explain', 'service/web', '--from=10.64.1.9', ...offline])
  expect(explained).toMatchObject({ code: 0 })
  expect(explained.stdout).toContain('10.96.0.20:80/TCP is the cluster IP of Service default/web, port http.')
  expect(explained.stdout).toContain('   10.64.2.7:8080   node2   zone-b   1/2     the client\n')

  const json = await runFairlead(['explain', 'node-port', '30443', '-o', 'json', ...offline])
  expect(JSON.parse(json.stdout)).toMatchObject({
    explanations: [{ verdict: { kind: 'forward' }, answerers: [{ address: '10.64.1.6:8443', sourceSeen: 'client' }] }],
  })
})

test.concurrent('the exit code tells an address that nobody answers from a question that makes no sense', async () => {
  const [nobody, mistake] = await Promise.all([
    runFairlead(['explain', '198.51.100.10:443', '--from=198.18.0.1', ...offline]),
    runFairlead(['explain', 'service/wep', ...offline]),
  ])
  expect(nobody).toMatchObject({ code: 2 })
  expect(nobody.stdout).toContain('Dropped: the client is not in loadBalancerSourceRanges.')
  expect(mistake).toMatchObject({ code: 1, stdout: '' })
  expect(mistake.stderr).toContain('Error: there is no Service "wep" in namespace "default", did you mean web?')
})

test.concurrent('a running proxy explains what it does', async () => {
  await using folder = await TemporaryFolder.make()
  const web = service('web', 18_080, { clusterIP: '10.96.0.10' })
  await folder.write('web.yaml', manifest(web, slice('web', 9), service('empty', 18_081, { clusterIP: '10.96.0.11' })))
  await using daemon = await DaemonProcess.start(`--objects=${folder.path}`, '--debug-socket=none')
  await daemon.isUp()
  const server = `--server=http://127.0.0.1:${daemon.ports[1]}`
  await eventually(async () => {
    const { code, stdout, stderr } = await runFairlead(['explain', 'service/web', server])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('127.0.0.1:9')
    expect(stdout).toContain('Services are served on a loopback address of this machine only, not at 10.96.0.10:18080.')
  })
  expect(await runFairlead(['explain', 'service/empty', server])).toMatchObject({
    code: 2,
    stdout: expect.stringContaining('No endpoint can serve: the connection is accepted, then reset.') as string,
  })
  expect(await runFairlead(['explain', 'service/wep', server])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('did you mean web?') as string,
  })
  const page = await daemon.metrics('/debug/explain?target=service/web&output=text')
  expect(page.body).toContain('on node1 (userspace, IPv4)')
})

test.concurrent('what the mode could not program is said, with the reason', async () => {
  await using folder = await TemporaryFolder.make()
  const ports = [{ name: 'http', port: 80, protocol: 'SCTP' }]
  await folder.write('call.yaml', manifest(service('call', 80, { clusterIP: '10.96.0.12', ports })))
  await using daemon = await DaemonProcess.start(`--objects=${folder.path}`, '--debug-socket=none')
  await daemon.isUp()
  await eventually(async () => {
    const { body } = await daemon.metrics('/debug/explain?target=service/call')
    const { explanations } = JSON.parse(body) as Answer & { readonly ok: true }
    expect(explanations).toMatchObject([{ observed: { notProgrammed: expect.stringContaining('not support SCTP') } }])
  })
})
