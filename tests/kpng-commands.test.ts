/** The commands as people run them: a core and a backend as two processes, without root. */
import { lstat, mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startHttpBackend } from '../src/cli/demo/sample-backends.ts'
import { TemporaryFolder } from '../src/sources/kube/testing/temporary-folder.ts'
import { freePorts } from './cluster/testing/free-ports.ts'
import { get, whoAnswers } from './e2e/testing/clients.ts'
import { Cluster } from './e2e/testing/cluster.ts'
import { DaemonProcess } from './e2e/testing/daemon-process.ts'
import { eventually } from './e2e/testing/eventually.ts'
import { FairleadProcess, runFairlead } from './e2e/testing/fairlead-process.ts'
import { manifest, node, service, slice } from './e2e/testing/objects.ts'

test('a cluster, a core and a backend: traffic follows the endpoints, also over the end of the core', async () => {
  await using blue = await startHttpBackend('blue')
  await using green = await startHttpBackend('green')
  const { port, metrics } = await freePorts('port', 'metrics')
  const web = slice('web', blue.port)
  await using cluster = await Cluster.start(node('node1'), service('web', port, { clusterIP: '10.96.0.10' }), web)
  await using folder = await TemporaryFolder.make()
  const api = `unix://${folder.path}/core.sock`
  const startCore = () =>
    new FairleadProcess([
      'kube',
      'to-api',
      `--kubeconfig=${cluster.kubeconfig}`,
      `--api=${api}`,
      `--exportMetrics=127.0.0.1:${metrics}`,
    ])
  const core = startCore()
  await using daemon = await DaemonProcess.start('api', 'to-userspace', `--api=${api}`, '--node-address=127.0.0.1')
  const url = `http://127.0.0.1:${port}`
  await eventually(async () => expect(await whoAnswers(url)).toBe('blue'))
  expect((await get(`http://127.0.0.1:${metrics}/healthz`)).status).toBe(200)
  expect((await get(`http://127.0.0.1:${metrics}/metrics`)).body).toContain('fairlead_kpng_clients{api="local"} 1\n')

  core.send('SIGKILL')
  await core.ended()
  await cluster.merge(web, { ports: [{ name: 'http', port: green.port }] })
  await daemon.process.says('no contact with the KPNG server; the last state stays in use')
  expect((await daemon.metrics('/metrics')).body).toContain('fairlead_kpng_core_connected 0\n')
  expect(await whoAnswers(url)).toBe('blue')

  await using again = startCore()
  await eventually(async () => expect(await whoAnswers(url)).toBe('green'))
  expect(await daemon.detail()).toMatchObject({ kpng: { target: api, isConnected: true } })
  const { body: series } = await daemon.metrics('/metrics')
  expect(series).toContain('fairlead_kpng_core_connected 1\n')
  expect(series).toContain('fairlead_kpng_core_reconnects_total 1\n')
  expect(series).toMatch(/^fairlead_kpng_core_last_message_seconds [\d.]+$/m)
  again.send('SIGTERM')
  expect(await again.ended()).toEqual({ code: 0, signal: null })
})

describe('a command line', () => {
  test('may have the flags of the source before or after the sink', async () => {
    await using objects = await Objects.write()
    const print = ['--once', '--node-name=node1']
    const before = await runFairlead(['file', '-i', objects.path, 'to-local', ...print])
    const after = await runFairlead(['file', 'to-local', ...print, `--input=${objects.path}`])
    expect(before.stdout).toContain('+ default/web {"Namespace":"default","Name":"web"')
    expect(after.stdout).toBe(before.stdout)
  })

  test.each([
    [['kube'], 'name a sink, one of:'],
    [['kube', 'to-nft-tables'], 'did you mean to-nftables?'],
    [['api', 'to-winkernel'], 'Invalid value: "kernelspace": must be iptables'],
    [['local', 'to-winuserspace'], 'Invalid value: "winuserspace": must be iptables'],
    [['api', 'to-healthchecks'], 'every mode (to-nftables, …) serves the health check node ports'],
    [['api', 'to-nftables', '--service-cidrs=10.96'], '--service-cidrs=10.96 is not a range of addresses'],
    [['file', 'to-api'], 'no objects'],
    [['file', 'to-api', '-i', '/nowhere'], '--input=/nowhere cannot be read'],
    [['file', 'to-api', '--api=127.0.0.1:1', '-i', '.'], 'cannot listen on "127.0.0.1:1"'],
    [['file', 'to-api', '--api=tcp://:0', '-i', '.'], "refusing to serve the cluster's state in plaintext"],
    [['api', 'to-local', '--api=http://x'], 'names no KPNG server'],
    [['api', 'to-exec'], 'to-exec needs a program: write it after "--"'],
    [['file', 'to-exec', '-i', '.', '--'], 'to-exec needs a program: write it after "--"'],
    [['api', 'to-module'], 'to-module needs a module: write it after "--"'],
    [['api', 'to-local', '--api-client-tls-key=/nowhere', '--api-client-tls-crt=/nowhere'], '/nowhere cannot be read'],
    [
      ['kube', 'to-api', '--with-service-labels=[a', '--server=http://127.0.0.1:1', '--listen=tcp://127.0.0.1:0'],
      '"[a" is not a pattern',
    ],
  ])('%j is refused with a way out', async (args, message) => {
    const { code, stderr } = await runFairlead(args)
    expect(stderr).toContain(`Error: `)
    expect(stderr).toContain(message)
    expect(code).toBe(1)
  })
})

test.each([
  [
    ['kube', '--help'],
    ['fairlead kube SINK', 'to-exec -- PROGRAM'],
  ],
  [
    ['kube', 'to-api', '--help'],
    ['fairlead kube to-api [flags]', '--listen-tls-key', '--kubeconfig', 'unless the source is'],
  ],
  [
    ['api', 'to-nftables', '--help'],
    ['fairlead api to-nftables [flags]', '--api-client-tls-ca', '--service-cidrs', 'fairlead --help'],
  ],
  [
    ['kube', 'to-iptables', '--help'],
    ['fairlead kube to-iptables [flags]', '--node-name'],
  ],
  [
    ['file', 'to-userspace', '-h'],
    ['fairlead file to-userspace [flags]', '--input'],
  ],
  [
    ['local', 'to-exec', '--help'],
    ['--answer-within', '--exportMetrics'],
  ],
])('%j says what can be said', async (args, texts) => {
  const { code, stdout } = await runFairlead(args)
  expect(code).toBe(0)
  for (const text of texts) expect(stdout).toContain(text)
})

test('a backend behind a core says on its own address how it is', async () => {
  await using objects = await Objects.write()
  const { metrics } = await freePorts('metrics')
  const url = `http://127.0.0.1:${metrics}`
  await using backend = new FairleadProcess([
    'file',
    'to-local',
    `--input=${objects.path}`,
    `--exportMetrics=127.0.0.1:${metrics}`,
  ])
  await eventually(async () => expect((await get(`${url}/healthz`)).status).toBe(200))
  const { body } = await get(`${url}/metrics`)
  expect(body).toContain('process_resident_memory_bytes')
  // It follows no core.
  expect(body).not.toContain('fairlead_kpng_core')
  backend.send('SIGTERM')
  expect(await backend.ended()).toEqual({ code: 0, signal: null })
})

test('a backend program that is killed shows in /healthz until it is back with the whole state', async () => {
  await using objects = await Objects.write()
  const { metrics } = await freePorts('metrics')
  const health = async () => {
    const { status, body } = await get(`http://127.0.0.1:${metrics}/healthz`)
    return `${status} ${body}`
  }
  const program = join(objects.folder.path, 'backend')
  // It may be installed later than the daemon that feeds it.
  await using exec = new FairleadProcess([
    'file',
    'to-exec',
    `--input=${objects.path}`,
    `--exportMetrics=127.0.0.1:${metrics}`,
    '--',
    program,
  ])
  await exec.says(`there is no program`)
  expect(exec.stderr).toContain(program)
  expect(exec.stderr).toContain('nextTryMs=500')
  await eventually(async () => expect(await health()).toMatch(/^503 there is no program/))
  const script = `#!/bin/sh\necho "pid $$" >&2\nsed -u -n 's/^{"t":"commit"/{"t":"ack"/p'\n`
  await writeFile(program, script.replace('sed', 'exec sed'), { mode: 0o755 })
  await eventually(async () => expect(await health()).toBe('200 ok\n'))
  // Once it is killed, it is not there for a while.
  await rename(program, `${program}.away`)
  const [, pid = ''] = /^pid (\d+)$/m.exec(exec.stderr) ?? []
  process.kill(Number(pid), 'SIGKILL')
  await exec.says('SIGKILL ended it')
  await eventually(async () => expect(await health()).toMatch(/^503 /))
  await rename(`${program}.away`, program)
  await eventually(async () => expect(await health()).toBe('200 ok\n'))
  exec.send('SIGTERM')
  expect(await exec.ended()).toEqual({ code: 0, signal: null })
})

test('to-file writes what file reads', async () => {
  await using objects = await Objects.write()
  const file = join(objects.folder.path, 'state.yaml')
  // What another user of the folder might lay in the way.
  const victim = join(objects.folder.path, 'victim')
  await writeFile(victim, 'mine')
  for (const trap of [file, `${file}.new`]) await symlink(victim, trap)
  await using writer = new FairleadProcess(['file', 'to-file', '-i', objects.path, '-o', file])
  const print = ['--once', '--node-name=node1']
  const fromState = () => runFairlead(['file', 'to-local', '-i', file, ...print])
  await eventually(async () => expect((await lstat(file)).isFile()).toBe(true))
  await eventually(async () => expect((await fromState()).stdout).toContain('+ default/web {'))
  const fromObjects = await runFairlead(['file', 'to-local', '-i', objects.path, ...print])
  expect((await fromState()).stdout).toBe(fromObjects.stdout)
  expect(await readFile(victim, 'utf8')).toBe('mine')
  expect((await lstat(file)).mode & 0o170777).toBe(0o100600)
  writer.send('SIGTERM')
  expect(await writer.ended()).toEqual({ code: 0, signal: null })
})

class Objects implements AsyncDisposable {
  readonly folder: TemporaryFolder

  private constructor(folder: TemporaryFolder) {
    this.folder = folder
  }

  static async write(): Promise<Objects> {
    const folder = await TemporaryFolder.make()
    await mkdir(join(folder.path, 'objects'))
    await folder.write(
      'objects/web.yaml',
      manifest(service('web', 80, { clusterIP: '10.96.0.10' }), slice('web', 8080)),
    )
    return new Objects(folder)
  }

  get path(): string {
    return join(this.folder.path, 'objects')
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.folder[Symbol.asyncDispose]()
  }
}
