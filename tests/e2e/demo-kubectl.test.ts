import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startHttpBackend } from '../../src/cli/demo/sample-backends.ts'
import type { SampleBackend } from '../../src/cli/demo/sample-backends.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { failureOf, whoAnswers, whoTakesTurns } from './testing/clients.ts'
import { DemoProcess } from './testing/demo-process.ts'
import { eventually } from './testing/eventually.ts'
import { kubectl, RunningKubectl, whyNoKubectl } from './testing/kubectl.ts'
import { manifest, service, slice } from './testing/objects.ts'

const reason = whyNoKubectl === undefined ? '' : ` (skipped: ${whyNoKubectl})`

describe.skipIf(whyNoKubectl !== undefined)(`kubectl and the demo${reason}`, () => {
  let folder: TemporaryFolder
  let demo: DemoProcess
  let extra: SampleBackend

  beforeAll(async () => {
    folder = await TemporaryFolder.make()
    extra = await startHttpBackend('extra')
    demo = await DemoProcess.start(folder)
  })

  afterAll(async () => {
    await demo[Symbol.asyncDispose]()
    await extra[Symbol.asyncDispose]()
    await folder[Symbol.asyncDispose]()
  })

  const run = (...args: readonly string[]) => kubectl(demo.kubeconfig, ...args)

  test('get lists the Services and their slices', async () => {
    const listed = await run('get', 'services,endpointslices', '-A')
    expect(listed).toMatch(/^shop +service\/web +ClusterIP +10\.96\.\d+\.\d+ +<none> +8080\/TCP /m)
    expect(listed).toMatch(/^shop +endpointslice\.discovery\.k8s\.io\/web-1 +IPv4 +\d+ +127\.0\.0\.1 /m)
  })

  test('describe shows a Service with its endpoints', async () => {
    const described = await run('-n', 'shop', 'describe', 'service', 'web')
    const endpoints = /^Endpoints: +(.*)$/m.exec(described)?.[1]?.split(',').sort()
    expect(endpoints).toEqual(demo.service('shop/web:http').endpoints.split(', ').sort())
  })

  test.each([
    ['client-side', []],
    ['server-side', ['--server-side']],
  ])('a Service that is applied (%s) is served, and one that is deleted is not', async (name, flags) => {
    const { port } = await freePorts('port')
    const objects = manifest(service(name, port), slice(name, extra.port))
    const file = await folder.write(`${name}.yaml`, objects)
    await run('apply', ...flags, '-f', file)
    const url = `http://127.0.0.1:${port}`
    await eventually(async () => expect(await whoAnswers(url)).toBe('extra'))
    // Applying the same again changes nothing.
    await run('apply', ...flags, '-f', file)
    expect(await whoAnswers(url)).toBe('extra')
    await run('delete', '-f', file)
    await eventually(async () => expect(await failureOf(url)).toBe('ECONNREFUSED'))
  })

  test('traffic follows a patch of the endpoints, down to none and up again', async () => {
    const { url, endpoints } = demo.service('shop/web:http')
    const ready = (isReady: boolean) =>
      `[{"op":"replace","path":"/endpoints/0/conditions/ready","value":${String(isReady)}}]`
    const scale = (isReady: boolean, ...names: readonly string[]) =>
      run('-n', 'shop', 'patch', 'endpointslices', ...names, '--type=json', '-p', ready(isReady))

    await scale(false, 'web-2', 'web-3')
    await eventually(async () => expect(await whoTakesTurns(url, 6)).toEqual(['web-1']))
    await scale(false, 'web-1')
    await eventually(async () => expect(await failureOf(url)).toBe('ECONNRESET'))
    await scale(true, 'web-1', 'web-2', 'web-3')
    await eventually(async () => expect(await whoTakesTurns(url, 6)).toEqual(['web-1', 'web-2', 'web-3']))
    await demo.process.says(`\nshop/web:http: curl ${url} -> ${endpoints}\n`)
  })

  test('a patched Service keeps its clients at one replica from then on', async () => {
    const { url } = demo.service('shop/web:http')
    const patch = (affinity: string) =>
      run('-n', 'shop', 'patch', 'service', 'web', '-p', `{"spec":{"sessionAffinity":"${affinity}"}}`)
    await patch('ClientIP')
    await eventually(async () => expect(await whoTakesTurns(url, 6)).toHaveLength(1))
    await patch('None')
    await eventually(async () => expect(await whoTakesTurns(url, 6)).toHaveLength(3))
  })

  test('what was deleted and patched comes back when the manifests of the demo are applied', async () => {
    const { url } = demo.service('shop/web:http')
    await run('-n', 'shop', 'delete', 'endpointslice', 'web-2')
    await run('-n', 'shop', 'patch', 'service', 'web', '-p', '{"spec":{"sessionAffinity":"ClientIP"}}')
    await eventually(async () => expect(await whoTakesTurns(url, 6)).toHaveLength(1))
    const applied = await run('apply', '-f', demo.manifests)
    expect(applied).toContain('endpointslice.discovery.k8s.io/web-2 created\n')
    expect(applied).toContain('service/web configured\n')
    expect(applied).toContain('service/api unchanged\n')
    expect(applied.split('\n').filter((line) => line.includes('Warning'))).toEqual([])
    await eventually(async () => expect(await whoTakesTurns(url, 6)).toEqual(['web-1', 'web-2', 'web-3']))
  })

  test('a node port, which nobody opens here, is said to be closed', async () => {
    await run('-n', 'shop', 'patch', 'service', 'closed', '-p', '{"spec":{"type":"NodePort"}}')
    await demo.process.says('of shop/closed:http is closed')
    expect(demo.process.stdout).toMatch(/\nNode port 3\d{4} of shop\/closed:http is closed: /)
    await run('-n', 'shop', 'patch', 'service', 'closed', '-p', '{"spec":{"type":"ClusterIP"}}')
  })

  test('get --watch shows a change as it happens', async () => {
    await using watch = new RunningKubectl(demo.kubeconfig, '-n', 'shop', 'get', 'services', '--watch')
    await watch.says('closed')
    await run('-n', 'shop', 'create', 'service', 'clusterip', 'seen', '--tcp=9000')
    await watch.says('seen')
    expect(watch.stdout).toMatch(/^seen +ClusterIP +10\.96\.\d+\.\d+ +<none> +9000\/TCP /m)
    await run('-n', 'shop', 'delete', 'service', 'seen')
  })

  test('what the API server refuses is said with the field, and nothing changes', async () => {
    const { url } = demo.service('shop/web:http')
    const patch = run('-n', 'shop', 'patch', 'service', 'web', '-p', '{"spec":{"clusterIP":"10.96.0.300"}}')
    await expect(patch).rejects.toThrow('spec.clusterIP')
    expect(await whoAnswers(url)).toMatch(/^web-/)
  })
})
