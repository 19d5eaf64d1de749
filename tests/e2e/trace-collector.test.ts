/** What sending traces costs a daemon: nothing without a collector, and no waiting for one that is away. */
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { DaemonProcess } from './testing/daemon-process.ts'
import { eventually } from './testing/eventually.ts'
import { FairleadProcess, installedExecutable, runFairlead } from './testing/fairlead-process.ts'
import { manifest, service } from './testing/objects.ts'

/** Prints each package that is loaded. */
const resolve = `export async function resolve(name, context, next) {
  if (name.startsWith('@')) process._rawDebug('loads ' + name)
  return next(name, context)
}`
const dataUrl = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`
const watching = {
  NODE_OPTIONS: `--import=${dataUrl(`import { register } from 'node:module'; register(${JSON.stringify(dataUrl(resolve))})`)}`,
}

/** On loopback each listens at the port of its Service. */
const objects = async () => {
  const { port } = await freePorts('port')
  return { port, text: manifest(service('web', port, { clusterIP: '10.96.0.10' })) }
}
const synced = async (daemon: DaemonProcess) => {
  await eventually(async () => expect((await daemon.health('/healthz')).status).toBe(200))
}

test.concurrent('without a collector nothing of OpenTelemetry is loaded', async () => {
  await using daemon = await DaemonProcess.startWith({ stdin: (await objects()).text, env: watching }, '--objects=-')
  await synced(daemon)
  daemon.process.send('SIGTERM')
  expect(await daemon.process.ended()).toEqual({ code: 0, signal: null })
  expect(daemon.process.stderr).not.toContain('loads @opentelemetry')
})

test.concurrent('with one it is, and a collector that is away neither holds up a sync nor the end', async () => {
  const asked: string[] = []
  const busy = createServer((request, response) => {
    asked.push(request.url ?? '')
    // Ten minutes later: whoever waits for that does not end within this test.
    response.writeHead(503, { 'retry-after': '600' }).end()
  })
  busy.listen(0, '127.0.0.1')
  await once(busy, 'listening')
  try {
    const { port } = busy.address() as AddressInfo
    const env = { ...watching, OTEL_EXPORTER_OTLP_TIMEOUT: '3600000', OTEL_BSP_SCHEDULE_DELAY: '10' }
    const flags = ['--objects=-', `--otlp-endpoint=http://127.0.0.1:${port}`]
    await using daemon = await DaemonProcess.startWith({ stdin: (await objects()).text, env }, ...flags)
    await synced(daemon)
    // An executable has all packages in it.
    const hasLoaded = daemon.process.stderr.includes('loads @opentelemetry/sdk-trace')
    expect(hasLoaded).toBe(installedExecutable === undefined)
    await eventually(() => {
      expect(asked).toContain('/v1/traces')
      return Promise.resolve()
    })
    daemon.process.send('SIGTERM')
    expect(await daemon.process.ended()).toEqual({ code: 0, signal: null })
    expect(daemon.process.stderr).toContain('"sending traces"')
  } finally {
    busy.close()
    busy.closeAllConnections()
  }
})

test.concurrent('fairlead trace asks a running proxy, and follows it', async () => {
  await using folder = await TemporaryFolder.make()
  const { text, port: firstPort } = await objects()
  await folder.write('web.yaml', text)
  await using daemon = await DaemonProcess.start(`--objects=${folder.path}`)
  await synced(daemon)
  const server = `--server=http://127.0.0.1:${daemon.ports[1]}`
  const { code, stdout } = await runFairlead(['trace', server])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^# +STARTED +WAITED +TOOK +FAMILY +TRIGGER +CHANGES +CAUSE\n1 /)
  expect(stdout).toMatch(/\ncaused by OnServiceSynced 1 Services, .* before\n/)
  expect(stdout).toMatch(/\nsyncProxyRules +[\d.]+ (?:µs|ms|s) +#+\n/)

  await using follower = new FairleadProcess(['trace', server, '--follow', '-o', 'json'])
  // What was there before is not news: only a change that comes after the first question is. So change until it shows.
  let port = firstPort
  await eventually(async () => {
    await folder.write('web.yaml', manifest(service('web', ++port, { clusterIP: '10.96.0.10' })))
    expect(follower.stdout).toContain('OnServiceUpdate')
  })
  follower.send('SIGINT')
  expect(await follower.ended()).toEqual({ code: 0, signal: null })
})

test.concurrent.each([
  [['--otlp-endpoint=collector:4317'], {}, '--otlp-endpoint=collector:4317 is not the URL of a collector'],
  [[], { OTEL_TRACES_EXPORTER: 'zipkin' }, 'OTEL_TRACES_EXPORTER=zipkin is not supported: use otlp or none'],
])('%j with %j is refused in one sentence', async (flags, env, sentence) => {
  const { code, stderr } = await runFairlead(['--objects=-', ...flags], { env, stdin: (await objects()).text })
  expect(code).toBe(1)
  expect(stderr).toContain(`Error: ${sentence}`)
})
