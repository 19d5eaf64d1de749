import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { get } from './testing/clients.ts'
import { eventually } from './testing/eventually.ts'
import { FairleadProcess } from './testing/fairlead-process.ts'
import { manifest, service } from './testing/objects.ts'

test.concurrent(
  'with --config-change=exit, a change of the configuration file ends the daemon, as in kube-proxy',
  async () => {
    await using rig = await daemonWithFile('text', ['--config-change=exit'])
    const { daemon, file } = rig
    await appendFile(file, '# changed\n')
    expect(await daemon.ended()).toEqual({ code: 1, signal: null })
    expect(daemon.stderr).toContain("content of the proxy server's configuration file was updated")
  },
)

test.concurrent(
  'a change of the configuration file is applied to the daemon that runs, and SIGHUP does not end it',
  async () => {
    await using rig = await daemonWithFile('text')
    const { daemon, file, metrics } = rig
    daemon.send('SIGHUP')
    await eventually(() => expect(daemon.stderr).toContain('reading the configuration file again'))
    const content = await readFile(file, 'utf8')
    await writeFile(file, content.replace('format: text', 'format: json').replace(/^healthz.*$/m, ''))
    await eventually(() => expect(daemon.stderr).toContain('"msg":"configuration applied"'))
    expect(JSON.parse((await get(`${metrics}/configz`)).body)).toMatchObject({
      'kubeproxy.config.k8s.io': { logging: { format: 'json' } },
      'fairlead.dev': { pending: { needRestart: [{ field: 'healthzBindAddress', pending: '0.0.0.0:10256' }] } },
    })
    expect((await get(`${metrics}/metrics`)).body).toContain('fairlead_config_pending_restart_fields 1\n')
    await writeFile(file, 'nonsense')
    await eventually(async () => expect((await get(`${metrics}/metrics`)).body).toContain('last_reload_successful 0\n'))
    daemon.send('SIGTERM')
    expect(await daemon.ended()).toEqual({ code: 0, signal: null })
  },
)

test.concurrent('with the JSON format every line of the log is an object', async () => {
  await using rig = await daemonWithFile('json')
  const { daemon } = rig
  daemon.send('SIGTERM')
  expect(await daemon.ended()).toEqual({ code: 0, signal: null })
  const lines = daemon.stderr.trimEnd().split('\n')
  const records = lines.map((line) => JSON.parse(line) as { ts: number; msg: string })
  for (const record of records)
    expect(record).toMatchObject({ ts: expect.any(Number), caller: expect.any(String), msg: expect.any(String) })
  expect(records[0]).toMatchObject({ msg: 'starting Fairlead', mode: 'userspace' })
  expect(records.at(-1)).toMatchObject({ msg: 'stopped' })
})

/** A daemon that was told everything by a file, and is up. */
async function daemonWithFile(format: 'text' | 'json', flags: readonly string[] = []) {
  const folder = await TemporaryFolder.make()
  const ports = await freePorts('health', 'metrics')
  const file = await folder.write(
    'config.yaml',
    `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: userspace
healthzBindAddress: 127.0.0.1:${ports.health}
metricsBindAddress: 127.0.0.1:${ports.metrics}
logging: { format: ${format}, verbosity: 2 }
oomScoreAdj: 0
conntrack: { maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s }
`,
  )
  const objects = await folder.write('objects.yaml', manifest(service('web', 80, { clusterIP: '10.96.0.10' })))
  const daemon = new FairleadProcess([`--config=${file}`, `--objects=${objects}`, ...flags])
  await eventually(() => get(`http://127.0.0.1:${ports.health}/livez`))
  return {
    daemon,
    file,
    metrics: `http://127.0.0.1:${ports.metrics}`,
    async [Symbol.asyncDispose]() {
      await daemon[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}
