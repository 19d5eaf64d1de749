/** The ports of the daemon have no passwords, so what it knows of the cluster's must not come out of them. */
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { dirname } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { Cluster } from './testing/cluster.ts'
import { DaemonProcess, nodeName } from './testing/daemon-process.ts'
import { eventually } from './testing/eventually.ts'
import { node } from './testing/objects.ts'

const token = 'eyJhbGciOi.bearer-token-of-the-test.c2lnbmF0dXJl'

test('no answer holds the bearer token; a heap snapshot does, and is for its owner alone', async () => {
  await using cluster = await Cluster.start(node(nodeName))
  const kubeconfig = parse(await readFile(cluster.kubeconfig, 'utf8')) as { users: { user: object }[] }
  const users = kubeconfig.users.map((entry) => ({ ...entry, user: { token } }))
  await writeFile(cluster.kubeconfig, stringify({ ...kubeconfig, users }))
  await using daemon = await DaemonProcess.start(
    `--kubeconfig=${cluster.kubeconfig}`,
    '--profiling',
    '--feature-gates=ComponentFlagz=true,ComponentStatusz=true',
  )
  await daemon.isUp()
  await eventually(async () => expect(await daemon.detail()).toMatchObject({ state: 'live' }))

  const [health = 0, metrics = 0] = daemon.ports
  const pages = [
    ...['/healthz', '/healthz?verbose', '/livez'].map((path) => ({ port: health, path })),
    ...metricsPaths.map((path) => ({ port: metrics, path })),
  ]
  for (const { port, path } of pages) {
    const { status, bytes } = await bytesOf(port, path)
    expect([path, status]).toEqual([path, path === '/debug/flags/v' ? 406 : 200])
    expect([path, bytes.includes(token)]).toEqual([path, false])
  }

  daemon.process.send('SIGUSR2')
  await daemon.process.says('heap snapshot written')
  const file = /file="([^"]+)"/.exec(daemon.process.stderr)?.[1] ?? ''
  onTestFinished(() => rm(dirname(file), { recursive: true, force: true }))
  const modes = await Promise.all(
    [file, dirname(file)].map(async (path) => ((await stat(path)).mode & 0o777).toString(8)),
  )
  expect(modes).toEqual(['600', '700'])
  // It was there to be found.
  expect((await readFile(file)).includes(token)).toBe(true)
})

const metricsPaths = [
  '/metrics',
  '/metrics/slis',
  '/healthz',
  '/healthz?verbose',
  '/proxyMode',
  '/configz',
  '/flagz',
  '/statusz',
  '/debug/flags',
  '/debug/flags/v',
  '/debug/pprof/',
  '/debug/pprof/heap',
  '/debug/pprof/profile?seconds=0.5',
]

/** Whatever is compressed is looked into. */
async function bytesOf(port: number, path: string): Promise<{ readonly status: number; readonly bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, agent: false }, (answer) => {
      buffer(answer).then((raw) => {
        const isGzip = raw[0] === 0x1f && raw[1] === 0x8b
        resolve({ status: answer.statusCode ?? 0, bytes: isGzip ? gunzipSync(raw) : raw })
      }, reject)
    })
    asked.on('error', reject).end()
  })
}
