/** What sending traces costs a daemon: nothing without a collector, and no waiting for one that is away. */
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { DaemonProcess } from './testing/daemon-process.ts'
import { eventually } from './testing/eventually.ts'
import { runFairlead } from './testing/fairlead-process.ts'
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

const objects = manifest(service('web', 80, { clusterIP: '10.96.0.10' }))
const synced = async (daemon: DaemonProcess) => {
  await eventually(async () => expect((await daemon.health('/healthz')).status).toBe(200))
}

test.concurrent('without a collector nothing of OpenTelemetry is loaded', async () => {
  await using daemon = await DaemonProcess.startWith({ stdin: objects, env: watching }, '--objects=-')
  await synced(daemon)
  daemon.process.send('SIGTERM')
  expect(await daemon.process.ended()).toEqual({ code: 0, signal: null })
  expect(daemon.process.stderr).not.toContain('loads @opentelemetry')
})

test.concurrent('with one it is, and a collector that is away neither holds up a sync nor the end', async () => {
  const busy = createServer((_request, response) => {
    // Ten minutes later: whoever waits for that does not end within this test.
    response.writeHead(503, { 'retry-after': '600' }).end()
  })
  busy.listen(0, '127.0.0.1')
  await once(busy, 'listening')
  try {
    const { port } = busy.address() as AddressInfo
    const env = { ...watching, OTEL_EXPORTER_OTLP_TIMEOUT: '3600000', OTEL_BSP_SCHEDULE_DELAY: '10' }
    const flags = ['--objects=-', `--otlp-endpoint=http://127.0.0.1:${port}`]
    await using daemon = await DaemonProcess.startWith({ stdin: objects, env }, ...flags)
    await synced(daemon)
    expect(daemon.process.stderr).toContain('loads @opentelemetry/sdk-trace')
    daemon.process.send('SIGTERM')
    expect(await daemon.process.ended()).toEqual({ code: 0, signal: null })
    expect(daemon.process.stderr).toContain('"sending traces"')
  } finally {
    busy.close()
    busy.closeAllConnections()
  }
})

test.concurrent.each([
  [['--otlp-endpoint=collector:4317'], {}, '--otlp-endpoint=collector:4317 is not the URL of a collector'],
  [[], { OTEL_TRACES_EXPORTER: 'zipkin' }, 'OTEL_TRACES_EXPORTER=zipkin is not supported: use otlp or none'],
])('%j with %j is refused in one sentence', async (flags, env, sentence) => {
  const { code, stderr } = await runFairlead(['--objects=-', ...flags], { env, stdin: objects })
  expect(code).toBe(1)
  expect(stderr).toContain(`Error: ${sentence}`)
})
